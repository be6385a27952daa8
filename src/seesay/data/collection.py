"""The one shape in memory that every captioned collection is read into, whatever its files look like."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from seesay.data.splits import SPLITS, normalise_split
from seesay.errors import SeesayError


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of one sentence that refer to one thing.

    Attributes:
        sentence: Index into the item's sentences.
        first: Index of the first word, in `sentence.split()`.
        last: Index after the last word, so that `words[first:last]` is the phrase.
        text: The phrase as its annotator saw it, which may differ in spelling from the item's own sentence.
        chain: The id that phrases and boxes of the same thing share; "0" is for words about nothing visible.
        kinds: What it is, roughly: people, clothing, animals, vehicles, ...
    """

    sentence: int
    first: int
    last: int
    text: str
    chain: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """Where the thing of one chain is: edges as fractions of the image's width and height, in [0, 1]."""

    chain: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Item:
    """One image and what people said about it.

    Attributes:
        name: The id that the collection uses for the image, mostly its file name.
        image: Where the image lies; None where it does not exist here.
        sentences: At least one, words separated by single spaces where the source had any white space.
        split: "train", "dev", "test", or None for an image that belongs to no split.
        boxes: One per box and chain: a box drawn around two things stands here twice.
        phrases: In the order of sentences and words.
        scenes: Chains that refer to the whole scene.
        boxless: Chains that annotators saw no box for.
    """

    name: str
    image: Path | None
    sentences: tuple[str, ...]
    split: str | None = None
    boxes: tuple[Box, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    scenes: frozenset[str] = frozenset()
    boxless: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Problem:
    """Something that a reader had to leave out or could not find: what kind, which thing, and the detail."""

    kind: str
    thing: str
    detail: str


@dataclass(frozen=True)
class Collection:
    """Items, and what was wrong with the files they come from.

    Example:
        >>> dog = Item("dog.jpg", None, ("a dog runs", "a brown dog"), "train")
        >>> cat = Item("cat.jpg", None, ("a cat sleeps",), "test")
        >>> pets = Collection("pets", Path("pets"), "CSV or JSONL", (dog, cat))
        >>> len(pets), pets.splits, pets.split("test").sentences
        (2, {'train': 1, 'test': 1}, ['a cat sleeps'])
    """

    name: str
    root: Path
    kind: str
    items: tuple[Item, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    @property
    def splits(self) -> dict[str, int]:
        """How many items each split has; items of no split are not counted."""
        counts = Counter(item.split for item in self.items)
        return {split: counts[split] for split in SPLITS if counts[split]}

    @property
    def sentences(self) -> list[str]:
        """All sentences, in the order of the items."""
        return [sentence for item in self.items for sentence in item.sentences]

    @property
    def images(self) -> list[Path]:
        """The images that exist here, in the order of the items."""
        return [item.image for item in self.items if item.image is not None]

    def split(self, name: str) -> "Collection":
        """The items of one split: "train", "dev" (or "val") or "test".

        Raises:
            SeesayError: There is no such split in this collection.
        """
        wanted = normalise_split(name)
        if wanted is None or wanted not in self.splits:
            raise SeesayError(
                f"{self.name} has no split {name!r}",
                allowed=list(self.splits) or "nothing: this collection has no splits",
                hint=f"seesay data check {self.root}",
            )
        return self.keep(lambda item: item.split == wanted)

    def with_images(self) -> "Collection":
        """The items whose image exists here."""
        return self.keep(lambda item: item.image is not None)

    def keep(self, wanted: Callable[[Item], bool]) -> "Collection":
        """The items for which `wanted` answers True, in the same order."""
        return replace(self, items=tuple(item for item in self.items if wanted(item)))

    def fingerprint(self) -> str:
        """A digest of names, splits and sentences: equal on every machine, whatever folder the files lie in.

        The order of the items does not matter, the order of the sentences of one item does.

        Example:
            >>> item = Item("dog.jpg", Path("here/dog.jpg"), ("a dog",), "train")
            >>> here = Collection("pets", Path("here"), "CSV or JSONL", (item,))
            >>> there = replace(here, root=Path("there"), items=(replace(item, image=None),))
            >>> here.fingerprint() == there.fingerprint()
            True
        """
        digest = hashlib.sha256()
        for item in sorted(self.items, key=lambda item: item.name):
            digest.update(json.dumps([item.name, item.split, item.sentences]).encode())
        return digest.hexdigest()
