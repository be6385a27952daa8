"""Captions as people read them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seesay.settings.doubt import Doubt


@dataclass(frozen=True, slots=True)
class Caption:
    """One sentence about an image.

    Attributes:
        text: As a person would write it, but for capitals and full stop.
        words: Its tokens.
        log_prob: Natural logarithm of its probability.
        finished: Whether it ended by itself; otherwise it was cut at the maximum length.
        match: Cosine of the caption and the image, where a matcher has ordered the captions.
        consensus: Mean similarity to what people said about the image's neighbours; None where it is not reranked.
        confidence: The share of its content words that people would be expected to say, where that has been measured.
        is_unsure: Whether more of them are expected to be wrong than right.
    """

    text: str
    words: tuple[str, ...]
    log_prob: float
    finished: bool
    match: float | None = None
    consensus: float | None = None
    confidence: float | None = None
    is_unsure: bool = False


def likelihood_per_word(caption: Caption) -> float:
    """The mean logarithm of the probability of its words, its end among them.

    Example:
        >>> likelihood_per_word(Caption("a dog", ("a", "dog"), log_prob=-3.0, finished=True))
        -1.0
    """
    return caption.log_prob / (len(caption.words) + caption.finished)


def judge(caption: Caption, doubt: Doubt | None) -> Caption:
    """A caption with how sure its model may be of it; as it is where that has not been measured."""
    if doubt is None or (doubt.matcher and caption.match is None):
        return caption
    confidence = float(doubt.probability(likelihood_per_word(caption), len(caption.words), caption.match or 0.0))
    return replace(caption, confidence=confidence, is_unsure=doubt.doubts(confidence))


def join_words(words: Sequence[str]) -> str:
    """A sentence of tokens, as a person would write it; its tokens are the same again.

    Example:
        >>> join_words(["a", "man", "'s", "dog", "is", "n't", "brown"])
        "a man's dog isn't brown"
    """
    return "".join(word if word.startswith("'") or word == "n't" else f" {word}" for word in words).lstrip()
