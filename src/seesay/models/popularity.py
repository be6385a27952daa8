"""How near to everything a picture or a sentence is, which a joint embedding has to know before it compares.

Some vectors are near to most others, whatever they show or say, and come first for queries that mean something else.
How near is measured once, on what the model has learned from:

    b(v) = τ log Σ_k share_k exp(v · c_k / τ)

Where v is a picture, the c_k are the centres of groups of training sentences, and for a sentence those of groups of
training pictures; share_k says how large a group is, and τ is the temperature of the loss. If every training sentence
were a group, s(v, u) − b(v) would be what the softmax of the loss makes of a score s among all of them. m-RNN divides
the likelihood of a sentence by its mean over training pictures for the same reason (Eq. 7). Nothing that is measured
on takes part: the number of a picture or a sentence does not depend on what else is searched.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from seesay.errors import SeesayError
from seesay.system.files import replace_atomically

POPULARITY = "popularity.safetensors"
"""The file beside the weights."""
N_GROUPS = 512
"""Of each side, as training leaves them; packaged weights have fewer, for their size (benchmarks/popularity.py)."""
MOST = 30_000
"""Vectors that groups are made of; of more, so many are drawn."""


@dataclass(frozen=True)
class Groups:
    """What a model has learned from, summed up.

    Attributes:
        centres: (K, D).
        shares: (K,), which sum to one.
    """

    centres: Tensor
    shares: Tensor


@dataclass(frozen=True)
class Popularity:
    """Groups of training pictures and of training sentences, in one space."""

    images: Groups
    texts: Groups
    temperature: float

    def of_images(self, vectors: Tensor) -> Tensor:
        """How near to any sentence pictures are: (n, D) → (n,).

        Example:
            >>> one = Groups(torch.tensor([[1.0, 0.0]]), torch.ones(1))
            >>> Popularity(one, one, 0.05).of_images(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
            tensor([1., 0.])
        """
        return self._near(vectors, self.texts)

    def of_texts(self, vectors: Tensor) -> Tensor:
        """How near to any picture sentences are: (n, D) → (n,)."""
        return self._near(vectors, self.images)

    def _near(self, vectors: Tensor, groups: Groups) -> Tensor:
        exponents = vectors @ groups.centres.T / self.temperature + groups.shares.log()
        return self.temperature * exponents.logsumexp(1)

    def write(self, path: Path) -> None:
        """Keep it, centres in half precision."""
        tensors = {
            "images": self.images.centres.half().contiguous(),
            "image_shares": self.images.shares,
            "texts": self.texts.centres.half().contiguous(),
            "text_shares": self.texts.shares,
            "temperature": torch.tensor(self.temperature),
        }
        with replace_atomically(path) as temporary:
            save_file(tensors, temporary)


def read_popularity(path: Path, dim: int) -> Popularity:
    """Read what `Popularity.write` wrote.

    Args:
        dim: Of the space that it has to be about.

    Raises:
        SeesayError: The file cannot be read, or is about something else.
    """
    try:
        tensors = {name: tensor.float() for name, tensor in load_file(path).items()}
        images, texts = (Groups(tensors[f"{side}s"], tensors[f"{side}_shares"]) for side in ("image", "text"))
        temperature = float(tensors["temperature"])
        fits = all(side.centres.shape == (len(side.shares), dim) for side in (images, texts))
    except (OSError, SafetensorError) as error:
        raise SeesayError(f"cannot read {path}: {error}") from error
    except (KeyError, TypeError, ValueError, RuntimeError):
        fits = False
    if not fits:
        raise SeesayError(f"{path} does not fit vectors of {dim} numbers", hint="take it from the same weights")
    return Popularity(images, texts, temperature)


def gather_popularity(images: Tensor, texts: Tensor, temperature: float, n: int = N_GROUPS) -> Popularity:
    """Sum up the vectors of training pictures (n_images, D) and sentences (n_texts, D), each in at most n groups."""
    return Popularity(_groups(images.numpy(), n), _groups(texts.numpy(), n), temperature)


def _groups(vectors: NDArray[np.float32], n: int) -> Groups:
    if len(vectors) > MOST:
        vectors = vectors[np.random.default_rng(0).choice(len(vectors), MOST, replace=False)]
    distinct, counts = np.unique(vectors, axis=0, return_counts=True)
    centres = distinct
    if len(distinct) > n:
        from sklearn.cluster import KMeans

        found = KMeans(n, n_init=1, max_iter=20, random_state=0).fit(distinct, sample_weight=counts)
        centres, counts = found.cluster_centers_, np.bincount(found.labels_, counts, n)
    return Groups(torch.from_numpy(centres).float(), torch.from_numpy(counts / counts.sum()).float())
