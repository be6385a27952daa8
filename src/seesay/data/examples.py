"""A collection as examples to learn from and to measure on."""

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from seesay import data
from seesay.data import Collection
from seesay.data.photos import photo_id
from seesay.images.feature_store import FeatureTable, content_key

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Examples:
    """A collection as examples: sentences with the number of their image.

    Attributes:
        sentences: All sentences.
        image_of: (n_sentences,) the image of each.
        table: The images' features, None where only sentences are learned from.
        weight: Passes over it in an epoch.
    """

    collection: Collection
    sentences: list[str]
    image_of: Indices
    table: FeatureTable | None
    weight: float = 1.0

    @classmethod
    def of(cls, collection: Collection, table: FeatureTable | None, weight: float = 1.0) -> "Examples":
        """All sentences of a collection, with the features of its images in the same order."""
        image_of = np.repeat(np.arange(len(collection)), [len(item.sentences) for item in collection.items])
        return cls(collection, collection.sentences, image_of, table, weight)

    def first(self, n: int) -> "Examples":
        """The first n images with their sentences."""
        collection = replace(self.collection, items=self.collection.items[:n])
        table = None if self.table is None else self.table.part(0, n)
        return Examples.of(collection, table, self.weight)

    @property
    def lengths(self) -> Indices:
        """Words of each example: of a sentence, or of an image's first sentence where pairs of them are drawn."""
        counts = np.array([len(sentence.split()) for sentence in self.sentences])
        return counts if self.table is not None else counts[self.first_of]

    @property
    def first_of(self) -> Indices:
        """Where the sentences of each image begin."""
        return np.flatnonzero(np.diff(self.image_of, prepend=-1))


def read_split(source: str, split: str, *, images: str = "", without: str = "") -> Collection:
    """A split of a collection, `all` for everything, without the photos that another one is measured on.

    Args:
        source: A collection by name, folder or file.
        images: Where its images lie, if not beside it; they need not be there.
        without: Collections, separated by commas, whose dev and test photos are left out.
    """
    collection = data.load(source, images=Path(images) if images else None)
    collection = collection.split(split) if split != "all" else collection
    for measured in filter(None, map(str.strip, without.split(","))):
        collection = leave_out_measured(collection, data.load(measured))
    return collection


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
            same_photo(item.name) not in names
            and same_photo(PurePosixPath(item.name).name) not in names
            and (item.image is None or content_key(item.image) not in contents)
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
