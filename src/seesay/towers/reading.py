"""How sentences become rows of numbers for a tower: tokenizer.json, and how rows are cut and filled up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seesay.errors import SeesayError
from seesay.system.tables import key
from seesay.towers.families import Towers
from seesay.towers.opening import named_by
from seesay.towers.shapes import LONGEST, MOST_SUBWORDS


@dataclass(frozen=True)
class RowRule:
    """How a sentence's tokens become a row.

    Attributes:
        longest: Tokens that are read; of a longer sentence the end token is kept.
        pad: The number that fills rows up.
        fixed: Whether every row has `longest` numbers (SigLIP), or as many as the longest of those read together.
        left: Whether rows are filled up at their beginning.
        lower: Whether text is put into small letters first, for a tower that learned from such.
    """

    longest: int = field(metadata={"at_least": 1, "at_most": LONGEST})
    pad: int = field(metadata={"at_least": 0, "at_most": MOST_SUBWORDS})
    fixed: bool = False
    left: bool = False
    lower: bool = key(False)


_PADS = {"clip": "<|endoftext|>", "siglip": "</s>"}
"""What fills rows up where tokenizer_config.json does not say so."""


def read_rule(towers: Towers, tokenizer: Any, config: Mapping[str, Any], origin: str) -> RowRule:
    """How a tower wants its rows.

    Args:
        tokenizer: Of the package `tokenizers`.
        config: What tokenizer_config.json says.
        origin: The tokenizer's file, for errors.

    Raises:
        SeesayError: The tokenizer does not fit the tower.
    """
    shape = towers.text
    assert shape is not None
    n = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
    if n > shape.n_subwords:
        raise SeesayError(f"{origin} has {n:,} tokens, the tower reads {shape.n_subwords:,}", allowed="no more than it")
    is_siglip = towers.family == "siglip"
    if not is_siglip and shape.end is not None:
        with named_by(origin):
            numbers = tokenizer.encode("a").ids
        end = max(numbers, default=-1) if shape.end < 0 else shape.end
        if not numbers or numbers[-1] != end:
            raise SeesayError(
                f"{origin} does not end a sentence with the token {end}, by whose state the tower reads it",
                allowed="a tokenizer of CLIP's kind",
            )
    named = config.get("pad_token") or _PADS[towers.family]
    token = named.get("content") if isinstance(named, Mapping) else named
    pad = tokenizer.token_to_id(str(token))
    if pad is None:
        raise SeesayError(
            f"{origin} has no token {str(token)[:40]!r} to fill rows up with", hint="tokenizer_config.json"
        )
    return RowRule(
        shape.longest,
        int(pad),
        fixed=is_siglip,
        left=is_siglip and config.get("padding_side", "right") == "left",
        # SigLIP and SigLIP 2 learned from small letters. The tokenizer of the first puts text into them by itself,
        # that of the second, Gemma's, does not.
        lower=is_siglip,
    )
