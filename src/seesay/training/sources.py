"""Training data: collections as examples, and the batches that are drawn from them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from seesay.data import Collection
from seesay.data.examples import Examples, Indices, read_split
from seesay.errors import SeesayError
from seesay.images.extraction import FeatureTable
from seesay.models.base import Matcher
from seesay.training.batching import count_batches, mixed_batches
from seesay.training.recipe import DevRecipe, Recipe, SourceRecipe

Model = TypeVar("Model", bound=Matcher)
FeatureReader = Callable[[Sequence[Path]], FeatureTable]


def read_collection(recipe: SourceRecipe | DevRecipe) -> Collection:
    """The split that a recipe names, without the photos that it leaves out; images need not be there."""
    if not isinstance(recipe, SourceRecipe):
        return read_split(recipe.source, recipe.split, images=recipe.images)
    collection = read_split(recipe.source, recipe.split, images=recipe.images, without=recipe.without)
    if recipe.fewest_sentences > 1:
        collection = collection.keep(lambda item: len(item.sentences) >= recipe.fewest_sentences)
    return replace(collection, items=collection.items[: recipe.at_most]) if recipe.at_most else collection


def read_whole_collection(recipe: SourceRecipe | DevRecipe) -> Collection:
    """`read_collection` where every image has to be there, and some are.

    Raises:
        SeesayError: Images are missing, or there is nothing at all.
    """
    collection = read_collection(recipe)
    if len(collection.images) < len(collection):
        raise SeesayError(
            f"{len(collection) - len(collection.images)} of {len(collection)} images of {recipe.source} "
            f"({recipe.split}) are missing",
            hint=f"seesay data check {recipe.source}, or set images to the folder that holds them",
        )
    return _require_items(collection, recipe)


def _require_items(collection: Collection, recipe: SourceRecipe | DevRecipe) -> Collection:
    if not collection.items:
        raise SeesayError(f"{recipe.source} has nothing to learn from in {recipe.split!r}")
    return collection


def read_source(recipe: SourceRecipe | DevRecipe, read_features: FeatureReader) -> Examples:
    """Read what a recipe names: its sentences, and the features of its images unless it wants sentences alone."""
    sentences_only = isinstance(recipe, SourceRecipe) and recipe.sentences_only
    if sentences_only:
        collection = _require_items(read_collection(recipe).keep(lambda item: len(item.sentences) > 1), recipe)
    else:
        collection = read_whole_collection(recipe)
    table = None if sentences_only else read_features(collection.images)
    return Examples.of(collection, table, recipe.weight if isinstance(recipe, SourceRecipe) else 1.0)


class SourceBatches:
    """The batches of several sources, each within one of them, as a recipe wants them."""

    def __init__(self, sources: Sequence[Examples], recipe: Recipe) -> None:
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

    evaluates_together = False

    def __init__(self, model: Model, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None:
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


def require_images(sources: Sequence[Examples], recipe: Recipe, learner: str) -> None:
    """Refuse sentences without images, of which a learner learns nothing."""
    if any(source.table is None for source in sources):
        raise SeesayError(f"recipe {recipe.name}: {learner} learns from images", allowed="sentences_only = false")
