"""Consensus reranking: of several captions for an image, prefer what people said about similar images.

m-RNN section 8 (Mao et al. 2015), after Devlin et al. 2015: take the k nearest captioned training images of an
image, compare every hypothesis with each of their captions, and rank the hypotheses by the mean of their m largest
similarities. `choose_k_m` finds k and m on a dev split.

The similarity of two sentences is CIDEr-D, as `pycocoevalcap` and the authors' released code compute it, or BLEU-4.
BLEU is smoothed, as of two single sentences few share a 4-gram. (The released code puts the mean F1 of the n-grams
where the paper says BLEU, and takes CIDEr's document frequencies from the images it is measured on: not done here.)

Nothing here knows a model: images are vectors, hypotheses are sentences, tokenised like the captions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray, as_array, as_indices
from seesay.metrics.bleu import bleu, pair_bleu
from seesay.metrics.cider import CiderScorer
from seesay.metrics.sentences import References, Sentence, as_references
from seesay.system.spread import Spread, spread_here

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike
    from seesay.metrics.frequencies import DocumentFrequencies

Metric = Literal["cider", "bleu"]
Anything = TypeVar("Anything")

PAPER_K_M: Final = {"cider": (60, 125), "bleu": (60, 175)}
"""Neighbours and captions that m-RNN chose on COCO, by metric."""
_PAIRS_AT_ONCE = 1 << 18


class Consensus:
    """The captions of a collection, to hold hypotheses against.

    Args:
        captions: For each captioned image, one sentence or more, tokenised like the hypotheses.
        metric: `"cider"` (CIDEr-D) or `"bleu"` (smoothed BLEU-4), both of single sentence pairs.
        frequencies: How rare an n-gram is, for CIDEr; the captions themselves say so where this is not given.

    Example:
        >>> captions = [["a dog runs", "a dog is running"], ["a brown dog runs fast"], ["two cats sleep"]]
        >>> consensus = Consensus(captions)
        >>> hypotheses = [["two dogs", "a dog runs"]]
        >>> scores = consensus.similarities(hypotheses, neighbours=[[0, 1]]).scores(m=2)
        >>> rerank(hypotheses, scores)
        [['a dog runs', 'two dogs']]
    """

    def __init__(
        self,
        captions: References | Sequence[Sequence[Sentence]],
        metric: Metric = "cider",
        *,
        frequencies: DocumentFrequencies | None = None,
    ) -> None:
        self.metric = _check(metric)
        self._cider = CiderScorer(captions, frequencies) if metric == "cider" else None
        self._captions = self._cider.references if self._cider else as_references(captions)

    def similarities(
        self, hypotheses: Sequence[Sequence[Sentence]], neighbours: ArrayLike, *, spread: Spread = spread_here
    ) -> Similarities:
        """Compare every hypothesis of an image with every caption of its neighbours.

        Args:
            hypotheses: For each image, any number of sentences.
            neighbours: (n_images, k) indices of captioned images, the nearest first, as `nearest` gives them.
            spread: Where they are compared, a block of hypotheses at a time: by default here (`seesay.system.cluster`).
        """
        near = as_indices(neighbours, "neighbours", "(n_images, k)", self._captions.n_images)
        if len(near) != len(hypotheses):
            raise SeesayError(
                f"hypotheses of {len(hypotheses)} images and neighbours of {len(near)}",
                allowed="one row of neighbours for each image",
            )
        n_captions = np.diff(self._captions.starts, append=len(self._captions.image_of))
        flat, counts = _flatten(hypotheses)
        n_most = int(n_captions.max())
        values = np.full((len(flat), near.shape[1], n_most), -np.inf)  # (n_hypotheses, k, captions of one image)
        image_of = np.repeat(np.arange(len(near)), counts)
        blocks = list(_blocks(n_captions[near].sum(1)[image_of]))
        given = [(flat[first:last], near[image_of[first:last]]) for first, last in blocks]
        for (first, last), compared in zip(blocks, spread(lambda: self._compare, given), strict=True):
            values[first:last] = compared
        return Similarities(values, counts)

    def _compare(self, block: tuple[Sequence[Sentence], IntArray]) -> FloatArray:
        """Hypotheses with the captions of the neighbours (n, k) of each: (n, k, captions of one image)."""
        hypotheses, near_of = block
        n_captions = np.diff(self._captions.starts, append=len(self._captions.image_of))
        slot = np.arange(int(n_captions.max()))
        exists = slot < n_captions[near_of][..., None]  # (n, k, n_most)
        reference_of = (self._captions.starts[near_of][..., None] + slot)[exists]
        hypothesis_of = np.repeat(np.arange(len(hypotheses)), exists.sum((1, 2)))
        values = np.full(exists.shape, -np.inf)
        values[exists] = self._score(hypotheses, hypothesis_of, reference_of)
        return values

    def _score(self, hypotheses: Sequence[Sentence], hypothesis_of: IntArray, reference_of: IntArray) -> FloatArray:
        if self._cider is not None:
            return self._cider.pairs(hypotheses, hypothesis_of, reference_of)
        return pair_bleu(hypotheses, self._captions, hypothesis_of, reference_of, smooth=True)[:, 3]


def _blocks(n_pairs: IntArray) -> Iterator[tuple[int, int]]:
    """Hypotheses `first` to `last` - 1 that have about `_PAIRS_AT_ONCE` pairs together."""
    ends = np.cumsum(n_pairs)
    first = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _PAIRS_AT_ONCE)))
        yield first, last
        first = last


@dataclass(frozen=True, eq=False)
class Similarities:
    """How similar hypotheses are to the captions of their images' neighbours.

    Attributes:
        values: (n_hypotheses, k, captions of one neighbour); minus infinity where a neighbour has fewer captions.
        counts: (n_images,) hypotheses of each image.
    """

    values: FloatArray
    counts: IntArray

    def scores(self, m: int, k: int | None = None) -> list[FloatArray]:
        """The consensus score of each hypothesis, by image.

        Args:
            m: The mean is over this many of the largest similarities, or over all where there are fewer.
            k: Only the captions of this many nearest neighbours count; all where it is not given.
        """
        means = self.means([m], self.values.shape[1] if k is None else k)
        return _by_image(means[:, 0], self.counts)

    def means(self, ms: Sequence[int], k: int) -> FloatArray:
        """(n_hypotheses, len(ms)) the scores for several m at once: sorted once, all means come from running sums."""
        if not 1 <= k <= self.values.shape[1]:
            raise SeesayError(f"k is {k}", allowed=f"1 to {self.values.shape[1]}, the neighbours that were compared")
        if min(ms) < 1:
            raise SeesayError(f"m is {min(ms)}", allowed="a whole number from 1 upwards")
        n_hypotheses, _, n_most = self.values.shape
        ascending = np.sort(self.values[:, :k].reshape(n_hypotheses, k * n_most), axis=1)
        best = ascending[:, : -max(ms) - 1 : -1]  # (n_hypotheses, at most the largest m)
        sums = np.cumsum(np.where(np.isfinite(best), best, 0.0), axis=1)
        n_there = np.isfinite(best).sum(1)  # (n_hypotheses,)
        n_taken = np.minimum(np.asarray(ms), n_there[:, None])  # (n_hypotheses, len(ms))
        means: FloatArray = np.take_along_axis(sums, n_taken - 1, 1) / n_taken
        return means


def rerank(items: Sequence[Sequence[Anything]], scores: Sequence[ArrayLike]) -> list[list[Anything]]:
    """The items of each image by falling score; equal ones keep their order, which for a beam is the model's own.

    Example:
        >>> rerank([["a", "b", "c"], ["d"]], [[1.0, 2.0, 2.0], [0.0]])
        [['b', 'c', 'a'], ['d']]
    """
    orders = [np.argsort(-as_array(own, "scores", "(n_items,)"), kind="stable") for own in scores]
    return [[own[place] for place in order] for own, order in zip(items, orders, strict=True)]


def oracle_scores(
    hypotheses: Sequence[Sequence[Sentence]],
    references: Sequence[Sequence[Sentence]],
    metric: Metric = "cider",
    *,
    frequencies: DocumentFrequencies | None = None,
) -> list[FloatArray]:
    """The score of each hypothesis against its image's own references: no reranking of these hypotheses does better.

    Args:
        hypotheses: For each image, any number of sentences.
        references: For each image, one sentence or more.
        metric: `"cider"` or `"bleu"`.
        frequencies: How rare an n-gram is, for CIDEr; the references themselves say so where this is not given.
    """
    flat, counts = _flatten(hypotheses)
    if _check(metric) == "bleu":
        own = [sentences for sentences, n in zip(references, counts, strict=True) for _ in range(n)]
        each = bleu(flat, own, smooth=True).each[:, 3]
    else:
        every = np.arange(len(references))[:, None]
        similar = Consensus(references, "cider", frequencies=frequencies).similarities(hypotheses, every).values
        each = np.where(np.isfinite(similar), similar, 0.0).sum((1, 2)) / np.isfinite(similar).sum((1, 2))
    return _by_image(each, counts)


def _flatten(hypotheses: Sequence[Sequence[Sentence]]) -> tuple[list[Sentence], IntArray]:
    """All hypotheses one after another, and how many each image has."""
    counts = np.fromiter(map(len, hypotheses), np.int64, len(hypotheses))
    return [sentence for several in hypotheses for sentence in several], counts


def _by_image(each: FloatArray, counts: IntArray) -> list[FloatArray]:
    return np.split(each, np.cumsum(counts))[:-1]


def _check(metric: Metric) -> Metric:
    if metric not in get_args(Metric):
        raise SeesayError(f"there is no similarity {metric!r}", allowed=get_args(Metric))
    return metric
