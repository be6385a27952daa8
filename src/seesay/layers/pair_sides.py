"""The two sides of pairs of an image and a sentence, with what is computed once for each side."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from seesay.layers.attention import Side


@dataclass(frozen=True)
class PreparedSide:
    """A side with what is computed once.

    Attributes:
        candidates: Of its attention, see `ContextAttention.prepare`.
        context: Of its attention as published.
        first: (n, N) the saliency of the first step.
        chosen: (n, D) what the first step compares.
    """

    side: Side
    candidates: Tensor
    context: Tensor | None
    first: Tensor
    chosen: Tensor

    def __getitem__(self, rows: Tensor | slice) -> "PreparedSide":
        side = self.side[rows]
        n_parts = side.parts.shape[1]
        return PreparedSide(
            side,
            self.candidates[rows, :n_parts],
            None if self.context is None else self.context[rows],
            self.first[rows, :n_parts],
            self.chosen[rows],
        )


Share = Callable[[Tensor, Tensor | None], Tensor]
"""From how salient candidates are (…, N), and a mask of those that there are, to weights that sum to one."""


def share_out(logits: Tensor, mask: Tensor | None) -> Tensor:
    """The softmax of Eq. 1; padding is never attended to."""
    return (logits if mask is None else logits.masked_fill(~mask, float("-inf"))).softmax(-1)


def weighted_mean(weights: Tensor, parts: Tensor) -> Tensor:
    """(n, N), (n, N, D) → (n, D)."""
    return (weights.unsqueeze(1) @ parts).squeeze(1)


def share_evenly(logits: Tensor, mask: Tensor | None) -> Tensor:
    """The same weight for every candidate: attention that selects nothing."""
    return share_out(torch.zeros_like(logits), mask)


def share_shuffled(logits: Tensor, mask: Tensor | None) -> Tensor:
    """As peaked as attention is, but on candidates drawn at random: attention that selects the wrong ones."""
    keys = torch.rand(logits.shape, generator=torch.Generator().manual_seed(0))
    if mask is not None:
        keys = keys.masked_fill(~mask, 2.0)  # what is not there keeps its place behind all others
    return share_out(logits.gather(-1, keys.argsort(-1)), mask)
