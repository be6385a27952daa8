"""Subwords: the pieces that a transformer reads in place of words, so that hardly any word is unknown to it.

WordPiece (Schuster & Nakajima 2012) as BERT uses it, by the `tokenizers` package.
"""

import hashlib
import json
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.reading import read_text
from seesay.text.typed.spelling import is_common
from seesay.towers.opening import named_by, open_tokenizer

_KIND = "WordPiece"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
LONGEST = 64
"""Subwords of a sentence that are read."""
FREQUENT = 1000
"""What a word counts as that is a subword of its own. Nobody has counted words for a subword model, but pieces are
chosen by how frequent they are, so a whole word among them is a frequent one; a word of several pieces counts as 1."""


class Subwords:
    """A WordPiece tokenizer.

    Args:
        text: The JSON of `tokenizers`, as a `tokenizer.json` holds it.
        origin: What errors call it.
    """

    file_name: ClassVar[str] = "tokenizer.json"

    def __init__(self, text: str, origin: str = "the tokenizer") -> None:
        self._tokenizer = open_tokenizer(text, origin)
        self._model: dict[str, Any] = json.loads(text)["model"]
        if self._model.get("type", _KIND) != _KIND:
            raise SeesayError(f"{origin} is of the kind {str(self._model['type'])[:40]!r}", allowed=_KIND)
        special = {token: self._tokenizer.token_to_id(token) for token in SPECIAL}
        if missing := [token for token, number in special.items() if number is None]:
            raise SeesayError(f"{origin} has no {missing[0]}", allowed="a WordPiece tokenizer of BERT's kind")
        self.text, self.origin = text, origin
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        self.pad, self.unknown = (int(special[token] or 0) for token in ("[PAD]", "[UNK]"))

    @classmethod
    def read(cls, path: Path) -> "Subwords":
        """Read a `tokenizer.json`."""
        try:
            return cls(read_text(path), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise SeesayError(f"cannot read {path}: {error}") from error

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.count(word) > 0

    @cached_property
    def tokens(self) -> list[str]:
        """All subwords by their number."""
        vocabulary: dict[str, int] = self._model["vocab"]
        return sorted(vocabulary, key=lambda token: vocabulary[token])

    def encode(self, sentence: str) -> list[int]:
        """The numbers of a sentence's subwords, between `[CLS]` and `[SEP]`."""
        with named_by(self.origin):
            numbers: list[int] = self._tokenizer.encode(_well_formed(sentence)).ids
        return numbers

    def count(self, word: str) -> int:
        """See `FREQUENT`; 0 for a word with a letter that no piece has."""
        with named_by(self.origin):
            pieces = self._tokenizer.encode(_well_formed(word), add_special_tokens=False).ids
        if not pieces or self.unknown in pieces:
            return 0
        return FREQUENT if len(pieces) == 1 else 1

    def knows(self, word: str) -> bool:
        """Whether a word, as it is spelled, is one subword, or a usual word of English: pieces alone spell anything."""
        return word in self and (self.count(word) == FREQUENT or is_common(word))

    def common_words(self, n: int) -> list[str]:
        """Whole words among the subwords, in the order of their numbers: the frequent ones come first."""
        return [token for token in self.tokens if token.isalpha() and len(token) > 1][:n]

    def rows(self, sentences: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Subword numbers (n, T), padded, and which of them count (n, T)."""
        with named_by(self.origin):
            found = [encoding.ids for encoding in self._tokenizer.encode_batch([*map(_well_formed, sentences)])]
        lengths = np.array([len(row) for row in found], np.int64)
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
        padded = np.full(mask.shape, self.pad, np.int64)
        padded[mask] = [number for row in found for number in row]
        return padded, mask

    def fingerprint(self) -> str:
        return hashlib.sha256("\n".join(self.tokens).encode()).hexdigest()

    def to_json(self) -> str:
        return self.text

    @classmethod
    def from_json(cls, text: str, name: str = file_name, fingerprint: str | None = None) -> "Subwords":
        return cls(text, name)

    def keep(self, wanted: Collection[str]) -> tuple["Subwords", list[int]]:
        """A smaller tokenizer that has `wanted`, the special tokens and all single characters, and the old numbers.

        A word whose own subword is gone is read in shorter pieces: with every single character kept, nothing that
        could be read becomes unknown.
        """
        kept = [
            number
            for number, token in enumerate(self.tokens)
            if token in wanted or token in SPECIAL or len(token.removeprefix("##")) == 1
        ]
        table = json.loads(self.text)
        table["model"]["vocab"] = {self.tokens[number]: place for place, number in enumerate(kept)}
        numbers = table["model"]["vocab"]
        table["added_tokens"] = [
            {**token, "id": numbers[token["content"]]} for token in table["added_tokens"] if token["content"] in numbers
        ]
        processor = table.get("post_processor") or {}
        for token in processor.get("special_tokens", {}).values():
            token["ids"] = [numbers[name] for name in token["tokens"]]
        table["padding"] = table["truncation"] = None
        return Subwords(json.dumps(table, ensure_ascii=False)), kept


def _well_formed(text: str) -> str:
    """A text without what no text can hold: a command line may bring any bytes, which Python keeps as halves of pairs.

    Example:
        >>> _well_formed("a caf" + chr(0xDCC3) + chr(0xDCA9)), _well_formed(chr(0xD83D) + " dog")
        ('a café', '? dog')
    """
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
