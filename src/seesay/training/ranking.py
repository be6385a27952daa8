"""Learning to rank: the task of every matcher.

A batch is taken from one collection. Of a collection with pictures it holds sentences with their pictures; of one that
has sentences alone it holds two sentences of the same picture, which have to find each other. Other sentences of a
picture in the batch are never counted against it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seesay import data
from seesay.data import Collection
from seesay.data.photos import photo_id
from seesay.errors import SeesayError
from seesay.images.extraction import FeatureTable
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Matcher
from seesay.training.batching import Indices, count_batches, mixed_batches
from seesay.training.distributed import gather_with_own_gradient
from seesay.training.losses import ranking_loss
from seesay.training.recipe import DevRecipe, Recipe, SourceRecipe
from seesay.training.task import Loss

FeatureReader = Callable[[Sequence[Path]], FeatureTable]


@dataclass(frozen=True)
class Source:
    """A collection as examples: sentences with the number of their picture.

    Attributes:
        sentences: All sentences.
        image_of: (n_sentences,) the picture of each.
        table: The pictures' features, None where only sentences are learned from.
        weight: Passes over it in an epoch.
    """

    collection: Collection
    sentences: list[str]
    image_of: Indices
    table: FeatureTable | None
    weight: float = 1.0

    @classmethod
    def of(cls, collection: Collection, table: FeatureTable | None, weight: float = 1.0) -> "Source":
        """All sentences of a collection, with the features of its pictures in the same order."""
        image_of = np.repeat(np.arange(len(collection)), [len(item.sentences) for item in collection.items])
        return cls(collection, collection.sentences, image_of, table, weight)

    @property
    def lengths(self) -> Indices:
        """Words of each example: of a sentence, or of a picture's first sentence where pairs of them are drawn."""
        counts = np.array([len(sentence.split()) for sentence in self.sentences])
        return counts if self.table is not None else counts[self.first_of]

    @property
    def first_of(self) -> Indices:
        """Where the sentences of each picture begin."""
        return np.flatnonzero(np.diff(self.image_of, prepend=-1))


def read_source(recipe: SourceRecipe | DevRecipe, read_features: FeatureReader) -> Source:
    """Read what a recipe names: its sentences, and the features of its pictures unless it wants sentences alone."""
    sentences_only = isinstance(recipe, SourceRecipe) and recipe.sentences_only
    collection = data.load(recipe.source, images=Path(recipe.images) if recipe.images else None)
    collection = collection.split(recipe.split) if recipe.split != "all" else collection
    if isinstance(recipe, SourceRecipe) and recipe.without:
        collection = leave_out_measured(collection, data.load(recipe.without))
    if sentences_only:
        collection = collection.keep(lambda item: len(item.sentences) > 1)
    elif len(collection.images) < len(collection):
        raise SeesayError(
            f"{len(collection) - len(collection.images)} of {len(collection)} pictures of {recipe.source} "
            f"({recipe.split}) are missing",
            hint=f"seesay data check {recipe.source}, or set images to the folder that holds them",
        )
    if not collection.items:
        raise SeesayError(f"{recipe.source} has nothing to learn from in {recipe.split!r}")
    table = None if sentences_only else read_features(collection.images)
    return Source.of(collection, table, recipe.weight if isinstance(recipe, SourceRecipe) else 1.0)


def leave_out_measured(collection: Collection, measured: Collection) -> Collection:
    """Drop the photos on which `measured` is measured: those of its dev and test splits.

    Photos are compared by Flickr's number, with which file names of Flickr8K, Flickr30K and Entities begin, and by
    their whole name where it begins with no number.
    """
    held_out = {same_photo(item.name) for item in measured.items if item.split in ("dev", "test")}
    return collection.keep(lambda item: same_photo(item.name) not in held_out)


def same_photo(name: str) -> str:
    """What is equal for two names of one photo.

    Example:
        >>> same_photo("1000268201_693b08cb0e.jpg") == same_photo("1000268201")
        True
        >>> same_photo("red_1.jpg") == same_photo("red_2.jpg")
        False
    """
    number = photo_id(name)
    return number if number.isdecimal() else name


@dataclass(frozen=True)
class Batch:
    """A whole batch: which source, which of its pictures, which sentences."""

    source: int
    images: Indices
    texts: list[str]
    partners: list[str] | None = None


class RankingTask:
    """A matcher, the collections it learns from, and the collection it is measured on."""

    def __init__(self, model: Matcher, sources: Sequence[Source], dev: Source, recipe: Recipe) -> None:
        self._model = model
        self.sources = list(sources)
        self.dev = dev
        self.recipe = recipe
        self._loss = ranking_loss(recipe.loss)
        self._lengths = [source.lengths for source in self.sources]
        self._batches = lru_cache(maxsize=2)(self._make_batches)

    def _make_batches(self, epoch: int) -> list[tuple[int, Indices]]:
        return mixed_batches(
            self._lengths,
            self.recipe.batches.size,
            weights=[source.weight for source in self.sources],
            seed=self.recipe.seed,
            epoch=epoch,
            bucket_by_length=self.recipe.batches.bucket_by_length,
        )

    @property
    def model(self) -> Matcher:
        return self._model

    def n_batches(self, epoch: int) -> int:
        counts = [len(lengths) for lengths in self._lengths]
        weights = [source.weight for source in self.sources]
        return count_batches(counts, self.recipe.batches.size, weights=weights, epoch=epoch)

    def batch(self, epoch: int, index: int) -> Batch:
        place, examples = self._batches(epoch)[index]
        source = self.sources[place]
        if source.table is not None:
            return Batch(place, source.image_of[examples], [source.sentences[example] for example in examples])
        first = source.first_of
        ends = np.append(first[1:], len(source.sentences))
        generator = np.random.default_rng([self.recipe.seed, epoch, index])
        pairs = [generator.choice(np.arange(first[e], ends[e]), 2, replace=False) for e in examples]
        texts, partners = ([source.sentences[pair[side]] for pair in pairs] for side in (0, 1))
        return Batch(place, examples, texts, partners)

    def loss(self, batch: Batch, rank: int, world: int) -> Loss:
        own = slice(rank, None, world)
        texts = self.model.encode_texts(batch.texts[own])
        if batch.partners is not None:
            images = self.model.encode_texts(batch.partners[own])
        else:
            table = self.sources[batch.source].table
            assert table is not None
            images = self.model.encode_images(table.rows(batch.images[own].tolist()))
        images, texts = (gather_with_own_gradient(side, rank, world) for side in (images, texts))
        order = torch.from_numpy(np.concatenate([batch.images[part::world] for part in range(world)]))
        positives = order.unsqueeze(1) == order
        return Loss.of_whole_batch(self._loss(self.model.score(images, texts), positives), world)

    def evaluate(self) -> dict[str, float]:
        report = retrieval_report(score_all(self.model, self.dev), self.dev.image_of)
        figures = {"sum": report["sum"]}
        for direction in ("i2t", "t2i"):
            for key in ("r1", "r5", "r10", "median"):
                figures[f"{direction}_{key}"] = report[direction][key]
        return figures


@torch.inference_mode()
def score_all(model: Matcher, source: Source, *, batch: int = 256) -> Tensor:
    """The scores of every picture and every sentence of a source: (n_images, n_texts)."""
    if source.table is None:
        raise ValueError("a source without pictures has no scores")
    n_images, n_texts = len(source.table), len(source.sentences)
    was_training = model.training
    model.eval()
    try:
        images = torch.cat(
            [
                model.encode_images(source.table.rows(range(start, min(start + batch, n_images))))
                for start in range(0, n_images, batch)
            ]
        )
        # Sentences of like length go together: a batch is padded to its longest.
        order = sorted(range(n_texts), key=lambda text: len(source.sentences[text].split()))
        encoded = [
            model.encode_texts([source.sentences[text] for text in order[start : start + batch]])
            for start in range(0, n_texts, batch)
        ]
        texts = torch.cat(encoded)[torch.tensor(order).argsort()]
        return model.score(images, texts)
    finally:
        model.train(was_training)
