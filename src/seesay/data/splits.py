"""Names of splits, and the text files that list which image belongs to which."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from seesay.data.sources import read_lines

SPLITS: Final = ("train", "dev", "test")

_ALIASES: Final = {
    "train": "train",
    "training": "train",
    "restval": "train",  # Karpathy's COCO split: validation images that papers add to the training images
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
    "testing": "test",
}
# Flickr_8k.trainImages.txt, flickr30k_train.txt, val.txt, iapr_test_list.txt
_LIST_NAME: Final = re.compile(
    r"(?:^|[^a-z])(train|dev|val|valid|validation|test)[._-]?(?:images|imgs|list)?\.(?:txt|lst)$", re.IGNORECASE
)


def normalise_split(name: str) -> str | None:
    """The name seesay uses for a split that others call by one of many names; None for an unknown one.

    Example:
        >>> [normalise_split(name) for name in ("Train", "val", "restval", "tarin")]
        ['train', 'dev', 'train', None]
    """
    return _ALIASES.get(name.strip().lower())


def split_of_file(path: Path) -> str | None:
    """Which split a list of images is for, by its file name; None where the name is not that of a list.

    Example:
        >>> names = ("Flickr_8k.devImages.txt", "val.txt", "iapr_test_list.txt", "contest.txt", "readme.txt")
        >>> [split_of_file(Path(name)) for name in names]
        ['dev', 'dev', 'test', None, None]
    """
    found = _LIST_NAME.search(path.name)
    return normalise_split(found[1]) if found else None


def find_lists(folders: Iterable[Path]) -> list[Path]:
    """The lists in the first of `folders` that holds any, in the order train, dev, test."""
    for folder in folders:
        found = [path for path in sorted(folder.glob("*.*")) if split_of_file(path)] if folder.is_dir() else []
        if found:
            return sorted(found, key=lambda path: SPLITS.index(split_of_file(path) or "test"))
    return []


def read_list(path: Path) -> Iterator[str]:
    """The image names in a list, one per line; blank lines do not count."""
    return (line.strip() for line in read_lines(path) if line.strip())
