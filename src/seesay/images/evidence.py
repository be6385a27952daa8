"""Attention and saliency behind a score: tensors where torch computes them, NumPy arrays elsewhere."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Array = TypeVar("Array")


@dataclass(frozen=True)
class Looked(Generic[Array]):
    """The attention of a model in every pair of K images and L sentences, step by step.

    Attributes:
        scores: (K, L).
        regions: (T, K, L, I) the share of each region of an image, p of sm-LSTM's Eq. 1.
        words: (T, K, L, J) the share of each word, q of the same.
    """

    scores: Array
    regions: Array
    words: Array


@dataclass(frozen=True)
class Saliency(Generic[Array]):
    """What a match rests on, for pairs of an image and a sentence.

    Attributes:
        logits: (n,) of P(match).
        maps: (n, h, w) the probability of each cell of the image's map.
        words: (n, T) the probability of each word; 0 behind a sentence's end.
    """

    logits: Array
    maps: Array
    words: Array
