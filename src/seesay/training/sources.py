"""What is learned from: collections as examples, and the batches that are drawn from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from seesay import data
from seesay.data import Collection
from seesay.data.photos import photo_id
from seesay.errors import SeesayError
from seesay.images.extraction import FeatureTable, content_key
from seesay.models.base import Matcher
from seesay.training.batching import Indices, count_batches, mixed_batches
from seesay.training.recipe import DevRecipe, Recipe, SourceRecipe

Model = TypeVar("Model", bound=Matcher)
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

    def first(self, n: int) -> "Source":
        """The first n pictures with their sentences."""
        collection = replace(self.collection, items=self.collection.items[:n])
        table = None if self.table is None else FeatureTable(self.table.store, self.table.keys[:n])
        return Source.of(collection, table, self.weight)

    @property
    def lengths(self) -> Indices:
        """Words of each example: of a sentence, or of a picture's first sentence where pairs of them are drawn."""
        counts = np.array([len(sentence.split()) for sentence in self.sentences])
        return counts if self.table is not None else counts[self.first_of]

    @property
    def first_of(self) -> Indices:
        """Where the sentences of each picture begin."""
        return np.flatnonzero(np.diff(self.image_of, prepend=-1))


def read_collection(recipe: SourceRecipe | DevRecipe) -> Collection:
    """The split that a recipe names, without the photos that it leaves out; pictures need not be there."""
    collection = data.load(recipe.source, images=Path(recipe.images) if recipe.images else None)
    collection = collection.split(recipe.split) if recipe.split != "all" else collection
    if isinstance(recipe, SourceRecipe) and recipe.without:
        collection = leave_out_measured(collection, data.load(recipe.without))
    return collection


def read_whole_collection(recipe: SourceRecipe | DevRecipe) -> Collection:
    """`read_collection` where every picture has to be there, and some are.

    Raises:
        SeesayError: Pictures are missing, or there is nothing at all.
    """
    collection = read_collection(recipe)
    if len(collection.images) < len(collection):
        raise SeesayError(
            f"{len(collection) - len(collection.images)} of {len(collection)} pictures of {recipe.source} "
            f"({recipe.split}) are missing",
            hint=f"seesay data check {recipe.source}, or set images to the folder that holds them",
        )
    return _require_items(collection, recipe)


def _require_items(collection: Collection, recipe: SourceRecipe | DevRecipe) -> Collection:
    if not collection.items:
        raise SeesayError(f"{recipe.source} has nothing to learn from in {recipe.split!r}")
    return collection


def read_source(recipe: SourceRecipe | DevRecipe, read_features: FeatureReader) -> Source:
    """Read what a recipe names: its sentences, and the features of its pictures unless it wants sentences alone."""
    sentences_only = isinstance(recipe, SourceRecipe) and recipe.sentences_only
    if sentences_only:
        collection = _require_items(read_collection(recipe).keep(lambda item: len(item.sentences) > 1), recipe)
    else:
        collection = read_whole_collection(recipe)
    table = None if sentences_only else read_features(collection.images)
    return Source.of(collection, table, recipe.weight if isinstance(recipe, SourceRecipe) else 1.0)


def leave_out_measured(collection: Collection, measured: Collection) -> Collection:
    """Drop the photos on which `measured` is measured: those of its dev and test splits.

    Photos are compared by Flickr's number, with which file names of Flickr8K, Flickr30K and Entities begin, by their
    whole name where it begins with no number, and by the bytes of their files: IAPR TC-12 has some photos twice.
    """
    held_out = measured.keep(lambda item: item.split in ("dev", "test"))
    names = {same_photo(item.name) for item in held_out.items}
    contents = {content_key(path) for path in held_out.images}
    return collection.keep(
        lambda item: (
            same_photo(item.name) not in names and (item.image is None or content_key(item.image) not in contents)
        )
    )


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


class SourceBatches:
    """The batches of several sources, each within one of them, as a recipe wants them."""

    def __init__(self, sources: Sequence[Source], recipe: Recipe) -> None:
        self._recipe = recipe
        self._lengths = [source.lengths for source in sources]
        self._weights = [source.weight for source in sources]
        self._of_epoch = lru_cache(maxsize=2)(self._make)

    def _make(self, epoch: int) -> list[tuple[int, Indices]]:
        return mixed_batches(
            self._lengths,
            self._recipe.batches.size,
            weights=self._weights,
            seed=self._recipe.seed,
            epoch=epoch,
            bucket_by_length=self._recipe.batches.bucket_by_length,
        )

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""
        counts = [len(lengths) for lengths in self._lengths]
        return count_batches(counts, self._recipe.batches.size, weights=self._weights, epoch=epoch)

    def take(self, epoch: int, index: int) -> tuple[int, Indices]:
        """The source's place and the examples of one batch."""
        return self._of_epoch(epoch)[index]


class SourceTask(Generic[Model]):
    """A model, the collections it learns from, and the collection it is measured on: what all tasks begin with."""

    def __init__(self, model: Model, sources: Sequence[Source], dev: Source, recipe: Recipe) -> None:
        self._model = model
        self.sources = list(sources)
        self.dev = dev
        self.recipe = recipe
        self._batches = SourceBatches(sources, recipe)

    @property
    def model(self) -> Model:
        return self._model

    def n_batches(self, epoch: int) -> int:
        return self._batches.count(epoch)


def require_pictures(sources: Sequence[Source], recipe: Recipe, learner: str) -> None:
    """Refuse sentences without pictures, of which a learner learns nothing."""
    if any(source.table is None for source in sources):
        raise SeesayError(f"recipe {recipe.name}: {learner} learns from pictures", allowed="sentences_only = false")
