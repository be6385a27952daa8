"""From names, sentences and splits as they come out of a file to a collection, with everything odd written down."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from seesay.data.collection import Collection, Item, Problem
from seesay.data.photos import Photos
from seesay.data.splits import normalise_split, read_list, split_of_file

# Of two splits that claim the same image the one further from training wins, so that nothing leaks into training.
_STRICTNESS: Final = {"train": 0, "dev": 1, "test": 2}


class Gathering:
    """Collects what a reader finds; readers differ only in how they find it.

    Example:
        >>> gathered = Gathering()
        >>> gathered.add_sentence("dog.jpg", "a  dog runs", where="pets.csv line 2")
        >>> gathered.add_sentence("dog.jpg", " ", where="pets.csv line 3")
        >>> gathered.add_split("dog.jpg", "val", where="pets.csv line 2")
        >>> pets = gathered.collection("pets", Path("pets"), "CSV or JSONL", photos=None)
        >>> pets.items[0].sentences, pets.items[0].split, pets.problems[0].kind
        (('a dog runs',), 'dev', 'empty sentence')
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self._sentences: dict[str, list[str]] = {}
        self._splits: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._sentences

    @property
    def names(self) -> list[str]:
        """The images that have been named so far."""
        return list(self._sentences)

    def report(self, kind: str, thing: str, detail: str) -> None:
        """Write down a problem."""
        self.problems.append(Problem(kind, thing, detail))

    def add_image(self, name: str) -> None:
        """Name an image that sentences may follow for."""
        self._sentences.setdefault(name, [])

    def add_sentence(self, name: str, sentence: str, *, where: str) -> None:
        """Add one sentence about an image; white space is made single spaces."""
        self.add_image(name)
        words = sentence.split()
        if words:
            self._sentences[name].append(" ".join(words))
        else:
            self.report("empty sentence", name, where)

    def add_split(self, name: str, split: str, *, where: str) -> None:
        """Put an image into a split, given by any of its usual names."""
        normal = normalise_split(split)
        if normal is None:
            self.report("unknown split", name, f"{where} says {split!r}; allowed: train, dev (val), test")
            return
        earlier = self._splits.setdefault(name, normal)
        if earlier != normal:
            strict = max(earlier, normal, key=lambda split: _STRICTNESS[split])
            self.report("image in two splits", name, f"in {earlier} and, by {where}, in {normal}; taken as {strict}")
            self._splits[name] = strict

    def resplit(self, names: Iterable[str], source: str, target: str) -> None:
        """Move those of the images that are in split `source` into split `target`."""
        for name in names:
            if self._splits.get(name) == source:
                self._splits[name] = target

    def add_lists(self, lists: Iterable[Path], known_as: dict[str, str]) -> None:
        """Put images into splits by lists; `known_as` gives the image for each spelling that a list may use."""
        for path in lists:
            split = split_of_file(path) or ""
            seen = set()
            for entry in read_list(path):
                name = known_as.get(entry)
                if entry in seen:
                    self.report("image listed twice", entry, path.name)
                elif name is None:
                    self.report("unknown image in a split list", entry, f"{path.name} names it, no sentence does")
                else:
                    self.add_split(name, split, where=path.name)
                seen.add(entry)

    def collection(self, name: str, root: Path, kind: str, *, photos: Photos | None) -> Collection:
        """Look for the images and put the items together; `photos` is None where none are expected."""
        items = []
        lost: list[Item] = []
        for image, sentences in self._sentences.items():
            if not sentences:
                self.report("image without sentences", image, "the files name it and say nothing about it")
                continue
            path = photos.find(image) if photos else None
            items.append(Item(image, path, tuple(sentences), self._splits.get(image)))
            if path is None:
                lost.append(items[-1])
        if photos and items and len(lost) == len(items):
            self.report(
                "no images",
                str(photos.root),
                f"none of the {len(items):,} images lies there; say where they are (images=, --images)",
            )
        elif photos:
            for item in lost:
                n = len(item.sentences)
                self.report("missing image", item.name, f"{n} sentence{'s describe' if n > 1 else ' describes'} it")
        return Collection(name, root, kind, tuple(items), tuple(self.problems), tuple(self.notes))
