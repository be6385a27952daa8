"""The hubness of a photo: its similarity to sentences that have nothing to do with it.

Some photos are near to most sentences, and come first for queries that mean something else (Radovanović et al. 2010).
As in the inverted softmax (Smith et al. 2017) a photo v is weighed by what a bank of sentences u_k gives it,

    b(v) = τ log (1/K) Σ_k exp(v · u_k / τ),

and the score of a sentence u is v · u − λ b(v). The bank holds captions of several collections, as many of each: of one
alone it would correct for what that collection is about. Its vectors are kept on their main axes.
"""

import math

import torch
from torch import Tensor, nn


class HubBank(nn.Module):
    """A bank of sentences.

    Args:
        n: Sentences.
        dim: Of the vectors of photos.
        kept: Main axes.
        temperature: τ.
    """

    def __init__(self, n: int, dim: int, kept: int, temperature: float) -> None:
        super().__init__()
        self.axes = nn.Parameter(torch.zeros(dim, kept), requires_grad=False)
        self.rows = nn.Parameter(torch.zeros(n, kept), requires_grad=False)
        self.temperature = temperature

    @torch.no_grad()
    def fill(self, sentences: Tensor) -> None:
        """Take the vectors (n, dim) of sentences, on the axes on which they differ most from nothing."""
        _, directions = torch.linalg.eigh(sentences.T @ sentences)
        self.axes.copy_(directions.flip(1)[:, : self.axes.shape[1]])
        self.rows.copy_(sentences @ self.axes)

    def forward(self, photos: Tensor) -> Tensor:
        """b of photos (n, dim): (n,)."""
        near = photos @ self.axes @ self.rows.T / self.temperature
        found: Tensor = self.temperature * (near.logsumexp(1) - math.log(self.rows.shape[0]))
        return found
