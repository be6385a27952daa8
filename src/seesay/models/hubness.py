"""Hubness correction for a joint embedding.

Some vectors, the hubs, are near to most others, whatever they show or say, and come first for queries that mean
something else (Radovanović et al. 2010). How much of a hub a vector is, is estimated on training data:

    b(v) = τ log Σ_k share_k exp(v · c_k / τ)

Where v is an image, the c_k are cluster centres of training sentences, and for a sentence those of training images;
share_k is the share of the vectors in a cluster, and τ the temperature of the loss. If every training sentence were a
cluster, s(v, u) − b(v) would be what the softmax of the loss makes of a score s among all of them. m-RNN divides the
likelihood of a sentence by its mean over training images for the same reason (Eq. 7). Nothing that is measured on takes
part: the hubness of an image or a sentence does not depend on what else is searched.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor

from seesay.catalogue.weights import HUBNESS as HUBNESS
from seesay.errors import SeesayError
from seesay.system.files import replace_atomically
from seesay.system.reading import require_regular

_OLDER = "popularity.safetensors"  # its name in folders of version 0.1
N_CENTRES = 512
"""Of each side, as training saves them; `seesay tune --only hubness` makes fewer, in a smaller file."""
MOST = 30_000
"""Vectors that are clustered; of more, so many are drawn."""


@dataclass(frozen=True)
class Clusters:
    """Training vectors of one side, clustered.

    Attributes:
        centres: (K, D).
        shares: (K,), which sum to one.
    """

    centres: Tensor
    shares: Tensor


@dataclass(frozen=True)
class Hubness:
    """Clusters of training images and of training sentences, in one space."""

    images: Clusters
    texts: Clusters
    temperature: float

    def of_images(self, vectors: Tensor) -> Tensor:
        """The hubness of images among sentences: (n, D) → (n,).

        Example:
            >>> one = Clusters(torch.tensor([[1.0, 0.0]]), torch.ones(1))
            >>> Hubness(one, one, 0.05).of_images(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
            tensor([1., 0.])
        """
        return self._hubness(vectors, self.texts)

    def of_texts(self, vectors: Tensor) -> Tensor:
        """The hubness of sentences among images: (n, D) → (n,)."""
        return self._hubness(vectors, self.images)

    def _hubness(self, vectors: Tensor, clusters: Clusters) -> Tensor:
        exponents = vectors @ clusters.centres.T / self.temperature + clusters.shares.log()
        return self.temperature * exponents.logsumexp(1)

    def write(self, path: Path) -> None:
        """Write it, centres in half precision."""
        tensors = {
            "images": self.images.centres.half().contiguous(),
            "image_shares": self.images.shares,
            "texts": self.texts.centres.half().contiguous(),
            "text_shares": self.texts.shares,
            "temperature": torch.tensor(self.temperature),
        }
        with replace_atomically(path) as temporary:
            temporary.write_bytes(to_bytes(tensors))


def find_hubness(folder: Path) -> Path | None:
    """The hubness file of a weights folder, also under its older name; None where it has none."""
    return next((folder / name for name in (HUBNESS, _OLDER) if (folder / name).is_file()), None)


def read_hubness(path: Path, dim: int) -> Hubness:
    """Read what `Hubness.write` wrote.

    Args:
        dim: Of the space that it has to be about.

    Raises:
        SeesayError: The file cannot be read, or is about something else.
    """
    try:
        require_regular(path)
        tensors = {name: tensor.float() for name, tensor in load_file(path).items()}
        images, texts = (Clusters(tensors[f"{side}s"], tensors[f"{side}_shares"]) for side in ("image", "text"))
        temperature = float(tensors["temperature"])
        fits = all(side.centres.shape == (len(side.shares), dim) for side in (images, texts))
    except (OSError, SafetensorError) as error:
        raise SeesayError(f"cannot read {path}: {error}") from error
    except (KeyError, TypeError, ValueError, RuntimeError):
        fits = False
    if not fits:
        raise SeesayError(f"{path} does not fit vectors of {dim} numbers", hint="take it from the same weights")
    return Hubness(images, texts, temperature)


def estimate_hubness(images: Tensor, texts: Tensor, temperature: float, n: int = N_CENTRES) -> Hubness:
    """From the vectors of training images (n_images, D) and sentences (n_texts, D), each in at most n clusters."""
    return Hubness(_cluster(images.numpy(), n), _cluster(texts.numpy(), n), temperature)


def _cluster(vectors: NDArray[np.float32], n: int) -> Clusters:
    if len(vectors) > MOST:
        vectors = vectors[np.random.default_rng(0).choice(len(vectors), MOST, replace=False)]
    distinct, counts = np.unique(vectors, axis=0, return_counts=True)
    centres = distinct
    if len(distinct) > n:
        from sklearn.cluster import KMeans

        found = KMeans(n, n_init=1, max_iter=20, random_state=0).fit(distinct, sample_weight=counts)
        centres, counts = found.cluster_centers_, np.bincount(found.labels_, counts, n)
    return Clusters(torch.from_numpy(centres).float(), torch.from_numpy(counts / counts.sum()).float())
