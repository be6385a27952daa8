"""One side of a network that brings two kinds of things into one space (Wang et al. 2016; HM-LSTM section 3.2.2)."""

import torch.nn.functional as F
from torch import Tensor, nn


class Branch(nn.Module):
    """A linear layer, batch normalisation, unit length.

    Example:
        >>> import torch
        >>> Branch(6, 4)(torch.randn(3, 6)).norm(dim=1).allclose(torch.ones(3))
        True
    """

    def __init__(self, n_in: int, dim: int, *, batch_norm: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, dim)
        self.norm = nn.BatchNorm1d(dim) if batch_norm else None

    def forward(self, x: Tensor) -> Tensor:
        """(n, n_in) → (n, dim)."""
        y = self.linear(x)
        if self.norm is not None:
            # One row has no variance of its own; a process may be left with no more of a small batch.
            y = self.norm(y) if len(y) > 1 or not self.norm.training else self._as_trained(y)
        return F.normalize(y, dim=1)

    def _as_trained(self, y: Tensor) -> Tensor:
        assert self.norm is not None
        return F.batch_norm(y, self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias)
