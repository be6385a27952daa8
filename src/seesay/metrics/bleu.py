"""BLEU-1 to BLEU-4 (Papineni et al. 2002), for a collection and for each sentence, as `pycocoevalcap` computes them.

The modified n-gram precisions, the closest reference length and the brevity penalty are m-RNN's section 10.3. Where the
print is silent, a precision with nothing to count is `1e-15 / 1e-9`, and one that counts nothing is `1e-15 / n`: a
sentence without a matching 4-gram has a BLEU-4 near 1e-4 and not zero. An empty hypothesis scores 0.

Two single sentences seldom share a 4-gram, and BLEU-4 then says nothing about the shorter ones that they do share.
Smoothed (Lin and Och 2004), every precision but that of single words counts one match and one n-gram more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seesay.metrics._arrays import FloatArray, IntArray
from seesay.metrics.matches import Masks, Matches, as_pairs, count_bits, match
from seesay.metrics.ngrams import N
from seesay.metrics.sentences import References, Sentence, as_references

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

_TINY, _SMALL = 1e-15, 1e-9


@dataclass(frozen=True, slots=True)
class Bleu:
    """BLEU-1, BLEU-2, BLEU-3 and BLEU-4."""

    corpus: FloatArray  # (4,) counts of the whole collection together
    each: FloatArray  # (n_hypotheses, 4)


def bleu(
    hypotheses: Sequence[Sentence], references: References | Sequence[Sequence[Sentence]], *, smooth: bool = False
) -> Bleu:
    """BLEU of one hypothesis per image against all references of that image.

    Args:
        hypotheses: One sentence per image.
        references: One sentence or more per image.
        smooth: Smooth the figure of each sentence; that of the collection never is.

    Example:
        >>> score = bleu(["a dog runs on grass", "a cat"], [["a dog runs on the grass"], ["a cat sits", "one cat"]])
        >>> score.corpus.round(4)
        array([0.8669, 0.7754, 0.703 , 0.6229])
        >>> score.each[:, 0].round(4)
        array([0.8187, 1.    ])
    """
    references = as_references(references)
    packed = references.pack_one_per_image(hypotheses)
    every = np.arange(len(references.image_of))
    covered = np.concatenate(  # pairs come in their own order, as they are sorted by image
        [_covered(matches) for matches in match(packed, references.sentences, references.image_of, every)]
    )
    n_correct = count_bits(np.bitwise_or.reduceat(covered, references.starts))
    length = _closest_length(packed.lengths, references)
    n_guessed = _n_ngrams(packed.lengths)
    corpus = _combine(n_correct.sum(0), n_guessed.sum(0), packed.lengths.sum(), length.sum())
    return Bleu(corpus, _combine(n_correct, n_guessed, packed.lengths, length, smooth))


def pair_bleu(
    hypotheses: Sequence[Sentence],
    references: References,
    hypothesis_of: ArrayLike,
    reference_of: ArrayLike,
    *,
    smooth: bool = False,
) -> FloatArray:
    """Sentence-level BLEU of single pairs, as consensus reranking needs it.

    Args:
        hypotheses: Any number of sentences.
        references: Packed once, for any number of calls.
        hypothesis_of: (n_pairs,) index of a hypothesis.
        reference_of: (n_pairs,) index of a reference sentence, counted through all images.
        smooth: Count one match more of every n-gram longer than a word.

    Returns:
        (n_pairs, 4) BLEU-1 to BLEU-4.

    Example:
        >>> references = References([["a dog runs", "one dog"], ["two cats sit"]])
        >>> pair_bleu(["a dog", "cats"], references, [0, 0, 1], [0, 1, 2])[:, 0].round(4)
        array([0.6065, 0.5   , 0.1353])
    """
    packed, sentences = references.pack(hypotheses), references.sentences
    first, second = as_pairs(packed, references, hypothesis_of, reference_of)
    n_correct = np.zeros((len(first), N), np.int64)
    for matches in match(packed, sentences, first, second):
        n_correct[matches.pairs] = count_bits(_covered(matches))
    lengths = packed.lengths[first]
    return _combine(n_correct, _n_ngrams(lengths), lengths, sentences.lengths[second], smooth)


def _covered(matches: Matches) -> Masks:
    """(n_pairs, 4) the n-grams of the hypothesis that the reference accounts for, as bits at their positions.

    A reference that has an n-gram c times accounts for its first c occurrences. With several references, the OR of
    their masks clips each count at the largest one of any single reference, which is BLEU's rule.
    """
    covered = []
    pairs = matches.pair_of_word()
    for masks in matches.ngrams(N):
        several = np.flatnonzero(masks & (masks - 1))  # the hypothesis has this n-gram more than once
        if len(several):
            masks = masks.copy()
            masks[several] = _nth_bit(masks[several], _occurrence(masks[several], pairs[several]))
        covered.append(np.bitwise_or.reduceat(masks, matches.starts))
    return np.stack(covered, axis=1)


def _occurrence(masks: Masks, pairs: IntArray) -> IntArray:
    """How often each n-gram came before in its own reference."""
    first_place = count_bits((masks & -masks) - 1)  # in the hypothesis: one number per n-gram of a pair
    ngram = pairs * (int(first_place.max()) + 1) + first_place
    order = np.argsort(ngram, kind="stable")
    place = np.arange(len(order))
    is_first = np.diff(ngram[order], prepend=-1) != 0
    occurrence = np.empty(len(order), np.int64)
    occurrence[order] = place - np.maximum.accumulate(np.where(is_first, place, 0))
    return occurrence


def _nth_bit(masks: Masks, nth: IntArray) -> Masks:
    """The n-th lowest set bit of each mask, counted from 0; nothing where there are fewer."""
    for done in range(int(nth.max())):
        masks = np.where(nth > done, masks & (masks - 1), masks)
    lowest: Masks = masks & -masks
    return lowest


def _n_ngrams(lengths: IntArray) -> IntArray:
    possible: IntArray = np.maximum(lengths[:, None] - np.arange(N), 0)  # (n_sentences, 4)
    return possible


def _closest_length(lengths: IntArray, references: References) -> IntArray:
    """Per image, the length of the reference closest in length to the hypothesis; the shorter one of two."""
    reference_lengths = references.sentences.lengths
    base = int(reference_lengths.max()) + 1
    distance = np.abs(reference_lengths - lengths[references.image_of])
    closest: IntArray = np.minimum.reduceat(distance * base + reference_lengths, references.starts)
    return closest % base


def _combine(
    n_correct: IntArray, n_guessed: IntArray, length: IntArray, reference_length: IntArray, smooth: bool = False
) -> FloatArray:
    more = (np.arange(N) > 0) * int(smooth)  # Lin and Och: one match more of every n-gram longer than a word
    precision = (n_correct + more + _TINY) / (n_guessed + more + _SMALL)
    mean = np.cumprod(precision, axis=-1) ** (1 / np.arange(1, N + 1))  # geometric mean of the first 1, 2, 3, 4
    ratio = (length + _TINY) / (reference_length + _SMALL)
    return mean * np.exp(np.minimum(0.0, 1 - 1 / ratio))[..., None]
