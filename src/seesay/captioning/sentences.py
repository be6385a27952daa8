"""Captions as people read them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caption:
    """One sentence about a picture.

    Attributes:
        text: As a person would write it, but for capitals and full stop.
        words: Its tokens.
        log_prob: Natural logarithm of its probability.
        finished: Whether it ended by itself; otherwise it was cut at the maximum length.
        consensus: Mean similarity to what people said about the picture's neighbours; None where it is not reranked.
    """

    text: str
    words: tuple[str, ...]
    log_prob: float
    finished: bool
    consensus: float | None = None


def join_words(words: Sequence[str]) -> str:
    """A sentence of tokens, as a person would write it; its tokens are the same again.

    Example:
        >>> join_words(["a", "man", "'s", "dog", "is", "n't", "brown"])
        "a man's dog isn't brown"
    """
    return "".join(word if word.startswith("'") or word == "n't" else f" {word}" for word in words).lstrip()
