"""A matcher whose scores can be worked out by hand, and a store that holds its features: no network ever runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from seesay.data import Collection, Item
from seesay.images.extraction import FeatureStore, content_key
from seesay.images.features import Features, FeatureSpec
from seesay.models.base import Matcher
from seesay.text.vocabulary import Vocabulary


class ToyMatcher(Matcher):
    """A picture is its stored vector, a sentence the vector it was given; the score is their inner product."""

    family = "toy"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        super().__init__(None, Vocabulary.build(["a toy"], min_count=1), FeatureSpec("efficientnet-lite0"))
        self.vectors = vectors

    def encode_images(self, features: Features) -> Tensor:
        return features.pooled

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        return torch.tensor([list(self.vectors[sentence]) for sentence in sentences], dtype=torch.float32)


Toy = tuple[ToyMatcher, Collection, Path]


@pytest.fixture
def make_toy(tmp_path: Path) -> Callable[[np.ndarray, Sequence[Sequence[Sequence[float]]]], Toy]:
    """Build a matcher, a collection and a feature store from a vector per image and the vectors of its sentences."""

    def make(images: np.ndarray, sentences: Sequence[Sequence[Sequence[float]]]) -> Toy:
        items, vectors = [], {}
        for number, own in enumerate(sentences):
            path = tmp_path / f"{number}.jpg"
            path.write_bytes(b"picture %d" % number)
            texts = tuple(f"sentence {number} {place}" for place in range(len(own)))
            vectors |= dict(zip(texts, own, strict=True))
            items.append(Item(path.name, path, texts, "test"))
        matcher, root = ToyMatcher(vectors), tmp_path / "store"
        keys = [content_key(tmp_path / item.name) for item in items]
        FeatureStore(matcher.feature_spec, root=root).write(keys, {"pooled": images})
        return matcher, Collection("toys", tmp_path, "CSV or JSONL", tuple(items)), root

    return make


@pytest.fixture
def three_images(make_toy: Callable[..., Toy]) -> Toy:
    """Three images on three axes. Ranks by hand: images 1, 3, 1; sentences 1, 3, 2, 1."""
    return make_toy(
        np.eye(3),
        [
            [(0.5, 0.25, 0), (0, 0.5, 0.25)],
            [(0.25, 0.125, 0)],
            [(0, 0, 1)],
        ],
    )
