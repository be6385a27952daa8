"""Captioned collections in their published formats, read into one shape.

Example:
    >>> from seesay import data
    >>> flickr8k = data.load("flickr8k")  # doctest: +SKIP
    >>> flickr8k.splits  # doctest: +SKIP
    {'train': 6000, 'dev': 1000, 'test': 1000}
"""

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Protocol

from seesay.data import coco, entities, flickr, iapr, karpathy, table
from seesay.data.collection import Box, Collection, Item, Phrase, Problem
from seesay.data.photos import is_photo_name
from seesay.data.sources import UnreadableError, read_json
from seesay.errors import SeesayError
from seesay.system.files import data_dir, expand_home

__all__ = ["Box", "Collection", "Item", "Phrase", "Problem", "UnreadableError", "load", "locate"]


class _Reader(Protocol):
    @property
    def LAYOUT(self) -> str: ...  # noqa: N802 - a constant of the reader's module
    def recognises(self, path: Path) -> bool: ...
    def read(self, path: Path, *, images: Path | None = None) -> Collection: ...


# In this order where a folder fits several: what its authors published goes before what others made of it.
_READERS: Final[tuple[_Reader, ...]] = (entities, flickr, iapr, coco, karpathy, table)


def load(source: str | Path, *, images: Path | None = None) -> Collection:
    """Read a captioned collection; its layout is recognised from the files that are there.

    Args:
        source: A folder or a file, or the name of one under `SEESAY_DATA`; an existing path goes first.
        images: The folder that holds the images, or one above it, where they do not lie with the sentences.

    Raises:
        SeesayError: Nothing of this name exists, no known layout fits, or a file is broken beyond use (then it is an
            `UnreadableError`). Smaller faults are listed in the collection's `problems`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = Path(folder) / "pets.csv"
        ...     _ = table.write_text("image,sentence,split\\ndog.jpg,a dog runs,train\\n")
        ...     pets = load(table)
        >>> pets.kind, pets.items[0].sentences, pets.problems[0].kind
        ('CSV or JSONL', ('a dog runs',), 'no images')
    """
    path = locate(source)
    try:
        return _reader_for(path).read(path, images=images)
    except OSError as error:
        raise SeesayError(f"cannot read {error.filename or path}: {(error.strerror or str(error)).lower()}") from error


def locate(source: str | Path) -> Path:
    """The path that `source` means: itself where it exists, else what is called so under `SEESAY_DATA`.

    Raises:
        SeesayError: Neither exists; similar names are suggested.
    """
    path = expand_home(source)
    named = data_dir()
    if os.path.exists(path):  # noqa: PTH110 - takes a name of any length, here and below
        return Path(os.path.abspath(path))  # noqa: PTH100 - so that "." has a name, and links keep theirs
    if named and os.path.exists(named / path):  # noqa: PTH110
        return Path(os.path.abspath(named / path))  # noqa: PTH100
    is_name = isinstance(source, str) and len(path.parts) == 1
    names = _names_in(named if is_name else path.parent)
    if not is_name:
        what, allowed = f"there is no {path}", None
    elif named:
        what, allowed = f"there is no collection {str(source)!r}, here or in {named}", names or None
    else:
        what, allowed = f"there is no file or folder {str(source)!r}, and SEESAY_DATA is not set", None
    near = _nearest(path.name, names)
    hint = near if near is None or is_name else str(path.parent / near)
    raise SeesayError(what, allowed=allowed, hint=hint or "give the path of a folder or a file")


def _names_in(folder: Path | None) -> list[str]:
    if folder is None or not os.path.isdir(folder):  # noqa: PTH112
        return []
    return [entry.name for entry in sorted(folder.iterdir()) if entry.is_dir() and not entry.name.startswith(".")]


def _nearest(name: str, names: list[str]) -> str | None:
    plain = {re.sub(r"[^a-z0-9]", "", candidate.lower()): candidate for candidate in names}
    close = get_close_matches(re.sub(r"[^a-z0-9]", "", name.lower()), plain, n=1, cutoff=0.7)
    return plain[close[0]] if close else None


def _reader_for(path: Path) -> _Reader:
    for reader in _READERS:
        if reader.recognises(path):
            return reader
    if path.is_file() and path.suffix.lower() == ".json":
        return coco if "annotations" in read_json(path, ("images",)) else karpathy
    inside = [child for child in _names_in(path) if any(reader.recognises(path / child) for reader in _READERS)]
    raise SeesayError(
        f"{path} holds no captioned collection that seesay knows: {_impression(path)}",
        allowed="".join(f"\n    - {reader.LAYOUT}" for reader in _READERS),
        hint=" or ".join(str(path / child) for child in inside[:3]) or None,
    )


def _impression(path: Path) -> str:
    if path.is_file():
        return "it is a file of an unknown kind"
    names = [entry.name for entry in path.iterdir()]
    if not names:
        return "the folder is empty"
    if n_photos := sum(map(is_photo_name, names)):
        return f"there are {n_photos:,} images and no sentences"
    shown = ", ".join(sorted(names)[:5])
    return f"there is {shown}{' and more' if len(names) > 5 else ''}"
