"""The verbs of matchers that can say where: regions and words have vectors in one space."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import torch.nn.functional as F
from torch import Tensor

from seesay.images.features import Features
from seesay.images.regions import Boxes
from seesay.layers.sequences import Sequences
from seesay.models.base import Matcher
from seesay.models.pretrained import load_kind


class Aligner(Matcher):
    """A matcher whose images are regions and whose sentences are words, the better fitting the larger their product.

    Attributes:
        boxes: (N, 4) the regions that `encode_images` looks at, as fractions of the image.
    """

    tuning = ("grounding", "boxes", "presence")
    graph_kinds: ClassVar[tuple[str, ...]] = ("regions", "phrases", "texts", "score")
    boxes: Boxes

    def unit_regions(self, features: Features, boxes: Boxes) -> Tensor:
        """The vectors of any regions, of unit length where their lengths mean nothing: (n, N, D)."""
        vectors = self.encode_regions(features, boxes)
        return vectors if self.weighs_regions else F.normalize(vectors, dim=-1)

    @abstractmethod
    def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
        """The vectors of any regions of images whose maps are given: (n, N, D).

        The regions that `encode_images` looks at (`boxes`) need no map where their means are given.
        """

    @abstractmethod
    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        """The vector of every word, one row of them for each sentence."""

    def encode_phrases(self, phrases: Sequence[str]) -> Tensor:
        """One vector for each phrase, read alone: the sum over its words: (n, D)."""
        texts = self.encode_texts(phrases)
        return (texts.states * texts.mask.unsqueeze(-1)).sum(1)

    def region_vectors(self, features: Features, boxes: Boxes) -> Tensor:
        # One phrase ranks regions: lengths that were never learned would put the same few first for every phrase.
        return self.unit_regions(features, boxes)[0]

    def phrase_vectors(self, phrases: Sequence[str]) -> Tensor:
        return self.encode_phrases(phrases)


@runtime_checkable
class GlobalEmbedding(Protocol):
    """An aligner that also has one vector for the whole image and one for the whole sentence."""

    def embed_images(self, features: Features) -> Tensor:
        """(n, D)."""

    def embed_texts(self, sentences: Sequence[str]) -> Tensor:
        """(n, D), the more alike the better sentence and image fit."""


def load_aligner(name: str | Path) -> Aligner:
    """Load trained weights that can say which region a word refers to.

    Raises:
        SeesayError: The weights are of a model that sees images as a whole; those that can are named.
    """
    return load_kind(name, Aligner, "sees an image as a whole and finds no regions")  # type: ignore[type-abstract]
