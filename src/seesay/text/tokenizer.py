"""From a sentence to the numbers that a model reads: whole words (`Vocabulary`) or subwords (`Subwords`).

A tokenizer travels with the weights as one JSON file. A model says on its class which kind it reads.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.reading import read_text

KINDS = {
    "vocabulary.json": ("vocabulary", "Vocabulary"),
    "tokenizer.json": ("subwords", "Subwords"),
    "pieces.json": ("pieces", "Pieces"),
}
"""The files of all kinds, with the modules and classes that read them: importing each takes longer than reading one."""


class Tokenizer(Protocol):
    """What models, weights folders and search need of it.

    Attributes:
        file_name: Of the file beside the weights.
        pad: The number that fills up rows.
        unknown: The number of what it does not know.
    """

    file_name: ClassVar[str]

    @property
    def pad(self) -> int: ...

    @property
    def unknown(self) -> int: ...

    def __len__(self) -> int:
        """How many numbers there are: the rows of an embedding."""

    def __contains__(self, word: object) -> bool:
        """Whether a word means something to a model that reads these numbers."""

    def encode(self, sentence: str) -> list[int]:
        """The numbers of a sentence, in its order."""

    def count(self, word: str) -> int:
        """How often a word was seen in training, or an estimate; 0 for one that is unknown."""

    def knows(self, word: str) -> bool:
        """Whether a word, as it is spelled, means something to a model that reads these numbers."""

    def common_words(self, n: int) -> list[str]:
        """Up to so many of its words, the most frequent first, as far as it knows."""

    def fingerprint(self) -> str:
        """SHA-256; tokenizers that encode alike have the same one."""

    def to_json(self) -> str:
        """The text of its file."""

    @classmethod
    def from_json(cls, text: str, name: str, fingerprint: str | None = None) -> Self:
        """Read what `to_json` wrote; errors call it `name`. What has the fingerprint was looked at before."""


def pad_rows(
    tokenizer: Tokenizer, sentences: Sequence[str], longest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of sentences, cut and padded (n, T), and their lengths (n,); an empty one is one unknown word."""
    rows = [tokenizer.encode(sentence)[:longest] or [tokenizer.unknown] for sentence in sentences]
    numbers = np.full((len(rows), max(map(len, rows), default=0)), tokenizer.pad, np.int64)
    for place, row in enumerate(rows):
        numbers[place, : len(row)] = row
    return numbers, np.array([len(row) for row in rows], np.int64)


def read_tokenizer(folder: Path, kinds: Iterable[type[Tokenizer]] = (), fingerprint: str | None = None) -> Tokenizer:
    """Read the tokenizer of a weights folder.

    Args:
        kinds: Of which its file may be; all that this package has, where none is named.
        fingerprint: What the weights were written for, where that is known.

    Raises:
        SeesayError: There is no such file, it is damaged, or it is that of other weights.
    """
    kinds = tuple(kinds)
    kind = (
        next((kind for kind in kinds if (folder / kind.file_name).is_file()), kinds[0]) if kinds else _kind_in(folder)
    )
    path = folder / kind.file_name
    try:
        text = read_text(path)
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SeesayError(f"{path} is not UTF-8: {error}") from error
    try:
        tokenizer = _read_once(kind, text, fingerprint)
    except SeesayError:
        tokenizer = kind.from_json(text, str(path))  # whose error names the file
    if fingerprint is not None and fingerprint != tokenizer.fingerprint():
        raise SeesayError(
            f"{path} has the words {tokenizer.fingerprint()[:12]}, its config.json was written for "
            f"{str(fingerprint)[:12]}",
            hint="take both files from the folder of the same weights",
        )
    return tokenizer


@lru_cache(maxsize=8)
def _read_once(kind: type[Tokenizer], text: str, fingerprint: str | None) -> Tokenizer:
    """Several weights read the same words."""
    return kind.from_json(text, kind.file_name, fingerprint)


def _kind_in(folder: Path) -> type[Tokenizer]:
    """The kind whose file a folder holds."""
    file = next((file for file in KINDS if (folder / file).is_file()), next(iter(KINDS)))
    module, name = KINDS[file]
    kind: type[Tokenizer] = getattr(import_module(f"seesay.text.{module}"), name)
    return kind
