"""Where the words of a reference stand in a hypothesis: one bit mask per word, for millions of sentence pairs.

Bit `i` of a word's mask is set where the hypothesis has that word at position `i`. Everything that BLEU, ROUGE-L and
CIDEr count follows from these masks with a few operations on whole arrays: an n-gram's mask is the AND of shifted word
masks, its count in the hypothesis the number of set bits, and the longest common subsequence comes from additions
(Hyyrö 2004).

Masks are uint64 while no hypothesis at hand has more than 64 words, and Python integers in an array of objects beyond:
slower, and the same code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.metrics._arrays import IntArray, as_indices
from seesay.metrics.sentences import END, Packed, References

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

Masks = NDArray[Any]  # uint64, or object holding int

_TABLE_SIZE = 1 << 21  # hypotheses at once times words: 16 MB of masks
_WORDS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Matches:
    """The masks of some pairs."""

    pairs: IntArray  # (n_pairs,) which ones
    starts: IntArray  # (n_pairs,) where the words of each pair's reference begin in `words`
    words: IntArray  # (n_words,) places in the references' `ids`; every pair closes with an END, whose mask is empty
    masks: Masks  # (n_words,)

    def ngrams(self, longest: int) -> Iterator[Masks]:
        """Masks of the n-grams that begin at each word, for n from 1 to `longest`; empty past a sentence's end."""
        masks = self.masks
        yield masks
        for n in range(1, longest):
            masks = masks.copy()
            masks[:-n] &= self.masks[n:] >> n
            masks[-n:] = 0
            yield masks

    def pair_of_word(self) -> IntArray:
        """(n_words,) the pair of each word, counted from the first pair in here."""
        lengths = np.diff(self.starts, append=len(self.words))
        return np.repeat(np.arange(len(self.starts)), lengths)


def match(hypotheses: Packed, references: Packed, hypothesis_of: IntArray, reference_of: IntArray) -> Iterator[Matches]:
    """Masks of all pairs `(hypothesis_of[k], reference_of[k])`, in portions of bounded memory.

    Args:
        hypotheses: Packed over the ids of the references.
        references: Where the reference sentences are.
        hypothesis_of: (n_pairs,) any hypothesis any number of times.
        reference_of: (n_pairs,)
    """
    order = np.argsort(hypothesis_of, kind="stable")
    hypothesis_of, reference_of = hypothesis_of[order], reference_of[order]
    n_ids = max(hypotheses.n_ids, references.n_ids)
    n_hypotheses = max(1, _TABLE_SIZE // n_ids)
    lengths = references.lengths[reference_of] + 1
    ends = np.cumsum(lengths)
    table = np.zeros(0, np.uint64)
    first = 0
    while first < len(order):
        last = min(
            np.searchsorted(hypothesis_of, hypothesis_of[first] + n_hypotheses),
            np.searchsorted(ends, ends[first] + _WORDS_AT_ONCE),
        )
        low, high = hypothesis_of[first], hypothesis_of[last - 1]
        cells, bits = _positions(hypotheses, low, high, n_ids)
        if len(table) < (high - low + 1) * n_ids or table.dtype != bits.dtype:
            table = np.zeros((high - low + 1) * n_ids, bits.dtype)
        np.bitwise_or.at(table, cells, bits)
        some = lengths[first:last]
        starts = np.cumsum(some) - some
        words = np.arange(some.sum()) + np.repeat(references.starts[reference_of[first:last]] - starts, some)
        rows = np.repeat((hypothesis_of[first:last] - low) * n_ids, some)
        yield Matches(order[first:last], starts, words, table[rows + references.ids[words]])
        table[cells] = 0
        first = last


def _positions(hypotheses: Packed, low: int, high: int, n_ids: int) -> tuple[IntArray, Masks]:
    """Cell (hypothesis - low, word) and position bit of every word of the hypotheses from `low` to `high`."""
    lengths = hypotheses.lengths[low : high + 1] + 1
    starts = hypotheses.starts[low : high + 1]
    ids = hypotheses.ids[starts[0] : starts[-1] + lengths[-1]]
    position = np.arange(len(ids)) - np.repeat(starts - starts[0], lengths)
    cells = np.repeat(np.arange(len(lengths)) * n_ids, lengths) + ids
    is_word = ids != END
    cells, position = cells[is_word], position[is_word]
    if lengths.max() - 1 <= 64:
        return cells, np.uint64(1) << position.astype(np.uint64)
    return cells, np.array([1 << int(place) for place in position], dtype=object)


def as_pairs(
    hypotheses: Packed, references: References, hypothesis_of: ArrayLike, reference_of: ArrayLike
) -> tuple[IntArray, IntArray]:
    """The indices of sentence pairs that a caller gave, checked."""
    first = as_indices(hypothesis_of, "hypothesis_of", "(n_pairs,)", len(hypotheses.lengths))
    second = as_indices(reference_of, "reference_of", "(n_pairs,)", len(references.image_of))
    if len(first) != len(second):
        raise SeesayError(f"{len(first)} indices of hypotheses and {len(second)} of references", allowed="pairs")
    return first, second


def count_bits(masks: Masks) -> IntArray:
    """Number of set bits in each mask.

    Example:
        >>> count_bits(np.array([0, 5, 2**64 - 1], np.uint64)), count_bits(np.array([2**70 + 1], object))
        (array([ 0,  2, 64]), array([2]))
    """
    if masks.dtype == object:
        counts = np.fromiter((mask.bit_count() for mask in masks.flat), np.int64, masks.size)
        return counts.reshape(masks.shape)
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(masks), np.int64)
    octets = np.ascontiguousarray(masks)[..., None].view(np.uint8)  # numpy before 2.0
    return np.asarray(np.unpackbits(octets, axis=-1).sum(axis=-1), np.int64)
