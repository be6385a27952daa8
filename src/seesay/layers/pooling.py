"""From many vectors to one."""

import torch
from torch import Tensor, nn


def masked_max(x: Tensor, mask: Tensor) -> Tensor:
    """The largest value over time, of the steps where `mask` is set: (n, T, D), (n, T) → (n, D).

    Example:
        >>> masked_max(torch.tensor([[[1.0], [9.0]]]), torch.tensor([[True, False]]))
        tensor([[1.]])
    """
    return x.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """The mean over time, of the steps where `mask` is set: (n, T, D), (n, T) → (n, D).

    Example:
        >>> masked_mean(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]]))
        tensor([[2.]])
    """
    return x.masked_fill(~mask.unsqueeze(-1), 0).sum(1) / mask.sum(1, keepdim=True)


class AttentionPool(nn.Module):
    """Learned weighted means over a set: each head scores every member, and its softmax weighs them.

    It pools before anything is projected, so its cost does not grow with the joint space.
    """

    def __init__(self, dim: int, heads: int = 1) -> None:
        super().__init__()
        self.queries = nn.Linear(dim, heads, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """From (n, N, D) to (n, heads · D)."""
        weights = self.queries(x).softmax(1)  # (n, N, heads)
        return torch.einsum("bnh,bnd->bhd", weights, x).flatten(1)
