"""Attention over instance candidates that is modulated by a global context (sm-LSTM, sections 3.2 and 3.3)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

FORMS = ("joint", "paper")


@dataclass(frozen=True)
class Side:
    """One side of pairs, images or sentences.

    Attributes:
        parts: (n, N, D) instance candidates: regions a_i or words w_j.
        context: (n, D) what the whole is: m or n.
        mask: (n, N), True where there is a candidate, from the first on; None where all have N.
    """

    parts: Tensor
    context: Tensor
    mask: Tensor | None = None

    def __len__(self) -> int:
        return len(self.context)

    def __getitem__(self, rows: Tensor | slice) -> "Side":
        """Some of the rows, without the padding that none of them needs."""
        if self.mask is None:
            return Side(self.parts[rows], self.context[rows])
        mask = self.mask[rows]
        longest = int(mask.sum(1).max()) if len(mask) else 0
        return Side(self.parts[rows, :longest], self.context[rows], mask[:, :longest])

    @property
    def evenly(self) -> Tensor:
        """Weights (n, N) under which every candidate counts the same."""
        if self.mask is None:
            return self.parts.new_full(self.parts.shape[:2], 1 / max(1, self.parts.shape[1]))
        return self.mask / self.mask.sum(1, keepdim=True)


class ContextAttention(nn.Module):
    """f_p, or f_q, of Eq. 2: how much each candidate stands out, given the whole and what has been compared.

        joint:    w_p · σ(m W_m + a_i W_a + h W_h + b)
        paper:    w_p · (σ(m W_m + b_m) + σ(a_i W_a + b_a) + σ(h W_h + b_h)) + b_p

    As published, the terms of m and h are the same for every candidate i and cancel in the softmax: every step has the
    same map, and the context does nothing. The joint form does what the paper describes. In both, b_p cancels.

    Args:
        dim: Of candidates and context.
        hidden: Of h.
        units: Of w_p.
        context: Whether m takes part.
        form: One of `FORMS`.
    """

    def __init__(self, dim: int, hidden: int, units: int, *, context: bool = True, form: str = "joint") -> None:
        super().__init__()
        self.is_joint = form == "joint"
        self.W_a = nn.Linear(dim, units)
        self.W_m = nn.Linear(dim, units, bias=not self.is_joint) if context else None
        self.W_h = nn.Linear(hidden, units, bias=not self.is_joint)
        self.w_p = nn.Linear(units, 1, bias=not self.is_joint)
        # Candidates and contexts have about unit length. Near zero σ is a line, in which the terms cancel as published:
        # inputs are spread over its bend.
        for layer, deviation in ((self.W_a, 1.0), (self.W_m, 1.0), (self.W_h, 2.0 * hidden**-0.5), (self.w_p, 0.3)):
            if layer is not None:
                nn.init.normal_(layer.weight, std=deviation)

    def prepare(self, side: Side) -> tuple[Tensor, Tensor | None]:
        """What does not depend on h: of the candidates (n, N, A), and as published of the context, apart, (n, 1, A)."""
        candidates = self.W_a(side.parts)
        if self.W_m is None:
            return candidates, None
        context = self.W_m(side.context).unsqueeze(1)
        return (candidates + context, None) if self.is_joint else (candidates, context)

    def forward(
        self, candidates: Tensor, context: Tensor | None, h: Tensor | None, *, out: Tensor | None = None
    ) -> Tensor:
        """f of every candidate: (…, N, A), (…, 1, A) and h (…, H), None for zeros → (…, N).

        Args:
            out: (…, N, A) memory for what is computed between, where no gradient is wanted.
        """
        if self.is_joint:
            inside: Tensor = candidates if h is None else torch.add(candidates, self.W_h(h).unsqueeze(-2), out=out)
            return torch.sigmoid(inside, out=out) @ self.w_p.weight[0]
        before = self.W_h.bias if h is None else self.W_h(h).unsqueeze(-2)
        terms = candidates.sigmoid() + before.sigmoid()
        if context is not None:
            terms = terms + context.sigmoid()
        found: Tensor = self.w_p(terms).squeeze(-1)
        return found


def unevenness(saliency: Tensor, mask: Tensor | None = None) -> Tensor:
    """How far the candidates are from being looked at once each, over all steps (Eq. 7, squared): the mean over pairs.

    Σ_i (1 − Σ_t p_{t,i})². Without the square, as Eq. 7 is published, it is I − T whatever the maps are: each of the T
    maps sums to one, and a constant teaches nothing.

    Args:
        saliency: (T, …, N), nothing where there is no candidate.
        mask: Which candidates there are, of a shape that fits (…, N).

    Example:
        >>> twice_the_same, in_turn = torch.tensor([[[1.0, 0.0]] * 2, [[1.0, 0.0], [0.0, 1.0]]]).unsqueeze(2)
        >>> unevenness(twice_the_same), unevenness(in_turn)
        (tensor(2.), tensor(0.))
    """
    missing = 1 - saliency.sum(0)
    if mask is not None:
        missing = missing.masked_fill(~mask, 0)
    return missing.square().sum(-1).mean()
