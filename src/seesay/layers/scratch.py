"""Memory to compute in."""

import math

from torch import Tensor


class Scratch:
    """Memory that one block after the other computes in: asking for fresh memory takes longer than what is done in it.

    It is of no use where gradients are wanted: they need what was computed.

    Example:
        >>> import torch
        >>> scratch = Scratch()
        >>> first = scratch.take("sums", torch.zeros(()), 2, 3).fill_(1.0)
        >>> scratch.take("sums", first, 3, 1).tolist()
        [[1.0], [1.0], [1.0]]
    """

    def __init__(self) -> None:
        self._kept: dict[str, Tensor] = {}

    def take(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """Memory of a shape, in which anything may stand, that is overwritten when this name is asked for again."""
        n = math.prod(shape)
        if name not in self._kept or self._kept[name].numel() < n:
            self._kept[name] = like.new_empty(n)
        return self._kept[name][:n].view(shape)
