"""Subwords: the pieces that a transformer reads in place of words, so that no word is unknown to it.

WordPiece (Schuster & Nakajima 2012) as BERT uses it, by the `tokenizers` package. A tokenizer travels with the weights
as one JSON text.
"""

import json
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seesay.errors import SeesayError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
LONGEST = 64
"""Subwords of a sentence that are read."""


class Subwords:
    """A WordPiece tokenizer.

    Args:
        text: The JSON of `tokenizers`, as a `tokenizer.json` holds it.
    """

    def __init__(self, text: str, origin: str = "the tokenizer") -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_str(text)
            self._model: dict[str, Any] = json.loads(text)["model"]
        except Exception as error:  # `tokenizers` raises nothing narrower
            raise SeesayError(f"{origin} is no tokenizer: {error}") from error
        if missing := [token for token in SPECIAL if self._tokenizer.token_to_id(token) is None]:
            raise SeesayError(f"{origin} has no {missing[0]}", allowed="a WordPiece tokenizer of BERT's kind")
        self.text = text
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        self.pad: int = self._model["vocab"]["[PAD]"]

    @classmethod
    def read(cls, path: Path) -> "Subwords":
        """Read a `tokenizer.json`."""
        try:
            return cls(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise SeesayError(f"cannot read {path}: {error}") from error

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def tokens(self) -> list[str]:
        """All subwords by their number."""
        vocabulary: dict[str, int] = self._model["vocab"]
        return sorted(vocabulary, key=lambda token: vocabulary[token])

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """The numbers of each sentence's subwords, between `[CLS]` and `[SEP]`."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(sentences))]

    def rows(self, sentences: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Subword numbers (n, T), padded, and which of them count (n, T)."""
        found = self.encode(sentences)
        lengths = torch.tensor([len(row) for row in found])
        width = int(lengths.max()) if found else 0
        padded = torch.tensor([row + [self.pad] * (width - len(row)) for row in found], dtype=torch.long)
        return padded.reshape(len(found), width), torch.arange(width) < lengths.unsqueeze(1)

    def keep(self, wanted: Collection[str]) -> tuple["Subwords", list[int]]:
        """A smaller tokenizer that has the special tokens and those of `wanted` that are here; and their old numbers.

        A word whose own subword is gone is read in shorter pieces, down to single characters where these are kept.
        """
        kept = [number for number, token in enumerate(self.tokens) if token in wanted or token in SPECIAL]
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
