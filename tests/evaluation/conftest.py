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
from seesay.models.base import Captioner, Matcher, State
from seesay.text.vocabulary import END, Vocabulary


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

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T


class ToyCaptioner(Captioner):
    """It says "a", then one of four nouns, then it stops; a picture's vector is the likelihood of each noun.

    Each of the other words has a thousandth of the probability, whatever was read before.
    """

    family = "toy"
    nouns = ("dog", "cat", "bus", "cow")

    def __init__(self) -> None:
        vocabulary = Vocabulary.build(["a", *self.nouns], min_count=1)
        super().__init__(None, vocabulary, FeatureSpec("efficientnet-lite0"))

    def encode_images(self, features: Features) -> Tensor:
        return features.pooled

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        raise NotImplementedError

    def score(self, images: Tensor, texts: object, **options: object) -> Tensor:
        raise NotImplementedError

    def start(self, images: Tensor) -> State:
        return (images, torch.zeros(len(images), dtype=torch.long))

    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        images, n_read = state
        return self.next_words(images, n_read).log(), (images, n_read + 1)

    def next_words(self, images: Tensor, n_read: Tensor) -> Tensor:
        """The probabilities (n, V) of the next word after some words have been read, START not counted."""
        probabilities = torch.zeros(len(images), len(self.vocabulary))
        probabilities[n_read == 0, self.vocabulary.encode("a")[0]] = 1.0
        nouns = torch.tensor(self.vocabulary.encode(" ".join(self.nouns)))
        for row in (n_read == 1).nonzero().flatten().tolist():
            probabilities[row, nouns] = images[row] / images[row].sum()
        probabilities[n_read > 1, END] = 1.0
        return (probabilities + 0.001) / (probabilities + 0.001).sum(1, keepdim=True)

    def read(self, images: Tensor, words: Tensor) -> Tensor:
        steps = [torch.full((len(images),), place) for place in range(words.shape[1])]
        return torch.stack([self.next_words(images, n_read) for n_read in steps], 1)

    def predict(self, hidden: Tensor) -> Tensor:
        return hidden.log()

    def refine(self, images: Tensor) -> Tensor:
        return images

    def word_vectors(self) -> Tensor:
        raise NotImplementedError


@pytest.fixture
def writer() -> Captioner:
    return ToyCaptioner()


Toy = tuple[ToyMatcher, Collection, Path]
WritePictures = Callable[[Mapping[str, Sequence[tuple[Sequence[float], Sequence[str]]]]], tuple[Collection, Path]]


@pytest.fixture
def write_pictures(tmp_path: Path) -> WritePictures:
    """Build a collection and a feature store from splits, whose pictures are a vector and sentences each."""

    def write(splits: Mapping[str, Sequence[tuple[Sequence[float], Sequence[str]]]]) -> tuple[Collection, Path]:
        items, vectors = [], []
        for split, pictures in splits.items():
            for number, (vector, sentences) in enumerate(pictures):
                path = tmp_path / f"{split}{number}.jpg"
                path.write_bytes(path.name.encode())
                items.append(Item(path.name, path, tuple(sentences), split))
                vectors.append(vector)
        keys = [content_key(tmp_path / item.name) for item in items]
        FeatureStore(FeatureSpec("efficientnet-lite0"), root=tmp_path / "store").write(
            keys, {"pooled": np.array(vectors, np.float32)}
        )
        return Collection("farm", tmp_path, "CSV or JSONL", tuple(items)), tmp_path / "store"

    return write


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
