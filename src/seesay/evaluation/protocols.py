"""The papers' ways to measure: which images of a split are taken, and how many are ranked against each other.

A thousand images are easier to rank than five thousand, so a figure means little without its protocol. All protocols
take images in the order of the collection, as published splits are used; a seed draws them at random instead, as m-RNN
and HM-LSTM did for COCO.
"""

import re
import time
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.images.arrays import ImageFeatures
from seesay.images.extraction import features_of
from seesay.images.feature_store import FeatureSource, FeatureTable
from seesay.system.progress import Progress


@dataclass(frozen=True, slots=True)
class Protocol:
    """How many images are ranked at a time, and how often; None takes the split as it is.

    Attributes:
        n_near: An image is compared with the sentences of so many images, itself and its nearest; 0 takes all.
    """

    name: str
    n_images: int | None
    n_folds: int
    about: str
    n_near: int = 0


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("full", None, 1, "every image of the split at once"),
        Protocol("1k", 1000, 1, "one thousand images"),
        Protocol("5-fold", 1000, 5, "five times one thousand images, averaged"),
        Protocol("5k", 5000, 1, "five thousand images at once"),
    )
}


def find_protocol(name: str) -> Protocol:
    """The protocol of a name; an unknown one is answered with the list.

    `limit-50` is for a quick look at 50 images. No paper measures so, and its name says that it is not the whole split.
    `shortlist-100` compares an image with the sentences of the 100 nearest images only (m-RNN, section 10.2).

    Example:
        >>> find_protocol("5-fold").about
        'five times one thousand images, averaged'
        >>> find_protocol("limit-50").n_images
        50
    """
    if limit := re.fullmatch(r"limit-([1-9][0-9]{0,8})", name):
        return Protocol(name, int(limit[1]), 1, f"{int(limit[1]):,} images, for a quick look")
    if near := re.fullmatch(r"shortlist-([1-9][0-9]{0,5})", name):
        return Protocol(name, None, 1, f"the sentences of the {int(near[1]):,} nearest images", int(near[1]))
    if name not in PROTOCOLS:
        raise SeesayError(f"there is no protocol {name!r}", allowed=(*PROTOCOLS, "shortlist-N"))
    return PROTOCOLS[name]


def choose_folds(n_images: int, protocol: Protocol, seed: int | None = None) -> list[NDArray[np.intp]]:
    """Which images each fold ranks.

    Args:
        n_images: How many the split has.
        protocol: What it asks for.
        seed: Draws the images at random; None takes them in their order.

    Raises:
        SeesayError: The split has fewer images than the protocol needs.

    Example:
        >>> pairs = Protocol("pairs", 2, 2, "twice two images")
        >>> [fold.tolist() for fold in choose_folds(5, pairs)]
        [[0, 1], [2, 3]]
    """
    size = n_images if protocol.n_images is None else protocol.n_images
    if n_images < size * protocol.n_folds:
        possible = [p.name for p in PROTOCOLS.values() if (p.n_images or 0) * p.n_folds <= n_images]
        raise SeesayError(
            f"protocol {protocol.name} needs {size * protocol.n_folds:,} images, there are {n_images:,}",
            allowed=f"with so many images: {', '.join(possible)}",
            hint="--protocol full",
        )
    order = np.arange(n_images) if seed is None else np.random.default_rng(seed).permutation(n_images)
    return [np.sort(order[fold * size : (fold + 1) * size]) for fold in range(protocol.n_folds)]


class FeatureReader(typing.Protocol):
    """A model of either engine, which says what features it reads."""

    @property
    def feature_spec(self) -> FeatureSource: ...

    @property
    def outputs(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class EvaluationSet:
    """The images that a model is measured on.

    Attributes:
        collection: One split of a collection.
        protocol: One of `PROTOCOLS`, which says which of its images are measured.
        seed: Draws the images of a protocol at random; None takes them in their order.
        store: The folder of the feature store, where it is not the user's own.
        on_progress: Called with the images that are done, and all, for one part of the work after the other.
    """

    collection: Collection
    protocol: str = "full"
    seed: int | None = None
    store: Path | None = None
    on_progress: Progress | None = None

    @property
    def rules(self) -> Protocol:
        """What the protocol says; an unknown one is refused."""
        return find_protocol(self.protocol)

    def take(self) -> Collection:
        """The images that are measured, those of all folds together."""
        return take_measured(self.collection, self.rules, self.seed)

    def read(self, model: FeatureReader) -> Examples:
        """The same with the features that a model reads, from the store or computed.

        Raises:
            SeesayError: There is no such protocol, the split is too small for it, or an image is missing or broken.
        """
        measured = self._with_images()
        features = features_of(
            measured.images, model.feature_spec, model.outputs, root=self.store, on_progress=self.on_progress
        )
        return Examples.of(measured, features)

    def look(self, see: Callable[[Sequence[Path]], ImageFeatures]) -> Examples:
        """The same with features that no store keeps, computed whenever they are asked for.

        Args:
            see: Gives the features of images.
        """
        measured = self._with_images()
        return Examples.of(measured, SeenTable(measured.images, see))

    def _with_images(self) -> Collection:
        rules = self.rules
        require_images(self.collection)
        return take_measured(self.collection, rules, self.seed)


class SeenTable(FeatureTable):
    """The features of a list of images, each opened when it is asked for."""

    def __init__(self, images: Sequence[Path], see: Callable[[Sequence[Path]], ImageFeatures]) -> None:
        self.images, self._see = images, see

    def __len__(self) -> int:
        return len(self.images)

    def arrays(self, indices: Sequence[int]) -> ImageFeatures:
        return self._see([self.images[index] for index in indices])

    def part(self, start: int, end: int) -> "SeenTable":
        return SeenTable(self.images[start:end], self._see)


def require_images(collection: Collection) -> None:
    """Refuse a collection without images, or with a file missing: a part of a split cannot be compared."""
    if not collection.items:
        raise SeesayError(f"{collection.name} has no images to measure on")
    n_missing = len(collection) - len(collection.images)
    if n_missing:
        raise SeesayError(
            f"{n_missing:,} of {len(collection):,} images of {collection.name} are missing",
            allowed="figures are of a whole split or they cannot be compared",
            hint=f"--images with the folder that holds them, or seesay data check {collection.root}",
        )


def take_measured(collection: Collection, protocol: Protocol, seed: int | None = None) -> Collection:
    """The images that a protocol measures, all folds together."""
    return _take(collection, np.concatenate(choose_folds(len(collection), protocol, seed)))


def _take(collection: Collection, places: NDArray[np.intp]) -> Collection:
    return replace(collection, items=tuple(collection.items[place] for place in places))


def divide(whole: Examples, n_folds: int) -> Iterator[Examples]:
    """The folds, which stand one after the other and have equally many images."""
    assert whole.table is not None
    size = len(whole.collection) // n_folds
    for start in range(0, size * n_folds, size):
        fold = _take(whole.collection, np.arange(start, start + size))
        table = whole.table if n_folds == 1 else whole.table.part(start, start + size)
        yield Examples.of(fold, table)


@contextmanager
def timed(what: str, seconds: dict[str, float]) -> Iterator[None]:
    """Add to the seconds that a part has taken."""
    start = time.perf_counter()
    yield
    seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - start
