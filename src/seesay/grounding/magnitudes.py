"""Lengths of the vectors of words and regions (DVSA supplement, section 1).

A score is a sum of inner products, so a word that nobody can see does least harm with a short vector, and a region that
shows something people talk about has a long one. The length of a word also depends on its sentence: it is counted in
lengths of that sentence's average word and then averaged over all places where the word stands. Of weights whose
lengths are free, as published, the lengths are taken as they are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from seesay.errors import SeesayError
from seesay.runtime.protocol import Answering
from seesay.text.tokens import tokenize
from seesay.text.vocabulary import SPECIAL


@dataclass(frozen=True, slots=True)
class WordMagnitude:
    """A word, how long its vector is on average, how often it was met, and in how few sentences (idf)."""

    word: str
    magnitude: float
    count: int
    idf: float


def has_free_lengths(model: Answering) -> bool:
    """Whether the vectors of a model's words were free to grow: not where those of a sentence share one length."""
    config = model.weights.about.get("config", {}) if model.weights else {}
    return bool(config.get("magnitudes") == "free")


def word_magnitudes(
    model: Answering, sentences: Sequence[str], *, min_count: int = 5, batch: int = 256, relative: bool = True
) -> list[WordMagnitude]:
    """The words of sentences that a model knows, the longest first.

    Args:
        model: Any matcher whose sentences are vectors of words.
        sentences: Where words are looked at.
        min_count: Words that are met less often are left out: a mean of few numbers says little.
        batch: Sentences that are read together.
        relative: Count lengths in those of the sentence's average word.
    """
    sums: Counter[int] = Counter()
    counts: Counter[int] = Counter()
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place].split()))
    for start in range(0, len(order), batch):
        texts = model.encode_texts([sentences[place] for place in order[start : start + batch]])
        is_word = texts.mask & (texts.words >= len(SPECIAL) - 1)  # unknown words count towards the average
        lengths = np.where(is_word, np.linalg.norm(texts.states, axis=-1), 0)  # (n, T)
        if relative:
            lengths = lengths * is_word.sum(1, keepdims=True) / lengths.sum(1, keepdims=True).clip(1e-12)
        for word, length in zip(texts.words[is_word].tolist(), lengths[is_word].tolist(), strict=True):
            sums[word] += length
            counts[word] += 1
    n_with = Counter(word for sentence in sentences for word in set(tokenize(sentence)))
    words = model.vocabulary.words
    found = [
        WordMagnitude(words[word], sums[word] / count, count, float(np.log(len(sentences) / n_with[words[word]])))
        for word, count in counts.items()
        if word >= len(SPECIAL) and count >= min_count
    ]
    return sorted(found, key=lambda row: (-row.magnitude, row.word))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """The correlation of the ranks of two rows of numbers, from -1 to 1; equal numbers share the mean of their ranks.

    Example:
        >>> round(spearman([1, 2, 3, 4], [10, 20, 20, 30]), 6)
        0.948683
    """
    a, b = (np.asarray(row, np.float64) for row in (first, second))
    if len(a) != len(b) or len(a) < 2:
        raise SeesayError(f"{len(a)} and {len(b)} numbers to correlate", allowed="as many of each, two or more")
    if (a == a[0]).all() or (b == b[0]).all():
        return 0.0  # where all numbers are equal, SciPy says nan and warns
    return float(spearmanr(a, b).statistic)
