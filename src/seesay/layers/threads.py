"""Work on small blocks: one for each thread, in memory that is used again."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def map_in_threads(function: Callable[[Item], Outcome], items: Sequence[Item]) -> Iterator[Outcome]:
    """Map in order, by as many threads as torch may use, each computing with one thread of its own.

    Example:
        >>> list(map_in_threads(lambda n: int(torch.arange(n).sum()), [3, 4]))
        [3, 6]
    """
    n_threads = torch.get_num_threads()
    if n_threads == 1 or len(items) == 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(n_threads, initializer=lambda: torch.set_num_threads(1))
    try:
        yield from pool.map(torch.inference_mode()(function), items)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(n_threads)


class Scratch:
    """Memory that one block after the other computes in: asking for fresh memory takes longer than what is done in it.

    It is of no use where gradients are wanted: they need what was computed.

    Example:
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
