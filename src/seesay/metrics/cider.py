"""CIDEr and CIDEr-D (Vedantam et al. 2015): agreement with the references in the n-grams that few images share.

A sentence is a vector of its 1- to 4-grams, weighted by how often they occur in it and by how few images have them in
their references (tf-idf). CIDEr is the mean cosine of hypothesis and references, CIDEr-D also clips repeated n-grams
and penalises a difference in length with a Gaussian (sigma 6). Both are multiplied by 10.

What `pycocoevalcap` calls CIDEr is CIDEr-D, and the figures here equal it. Like there, the length is counted in
bigrams, words are not stemmed, and an n-gram that no reference has weighs as if one image had it. The weights come from
the references: a collection of one image has no rare n-grams, and everything scores 0. So does an empty hypothesis.

Every n-gram is kept at the word where it begins, once per occurrence. With c occurrences in a reference and h in a
hypothesis, an n-gram of weight w adds `min(h, c) w · c w` to CIDEr-D's product: each occurrence adds `min(h, c) w²`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray
from seesay.metrics.matches import as_pairs, count_bits, match
from seesay.metrics.sentences import Packed, References, Scores, Sentence, as_references

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

N = 4
_SIGMA = 6.0
_UNSEEN = (1 << 31) - 1  # stands for all n-grams that no reference has

Variant = Literal["cider", "cider-d"]


def cider(hypotheses: Sequence[Sentence], references: References | Sequence[Sequence[Sentence]]) -> Scores:
    """CIDEr as in the paper: no clipping, no length penalty.

    Args:
        hypotheses: One sentence per image.
        references: One sentence or more per image.

    Example:
        >>> score = cider(["a a a dog", "two cats"], [["a dog runs"], ["two cats sit"]])
        >>> score.each.round(3)
        array([2.616, 3.809])
    """
    return CiderScorer(references).score(hypotheses, "cider")


def cider_d(hypotheses: Sequence[Sentence], references: References | Sequence[Sequence[Sentence]]) -> Scores:
    """CIDEr-D, the figure that captioning papers print as CIDEr.

    Args:
        hypotheses: One sentence per image.
        references: One sentence or more per image.

    Example:
        >>> score = cider_d(["a a a dog", "two cats"], [["a dog runs"], ["two cats sit"]])
        >>> score.each.round(3)
        array([1.68 , 3.756])
    """
    return CiderScorer(references).score(hypotheses, "cider-d")


class CiderScorer:
    """References with their tf-idf weights, for scoring as many hypotheses as wanted.

    Args:
        references: For each image, one sentence or more. They also say how rare an n-gram is.

    Example:
        >>> scorer = CiderScorer([["a dog runs", "one dog"], ["two cats sit"]])
        >>> scorer.pairs(["a dog", "cats"], [0, 0, 1], [0, 1, 2]).round(3)
        array([3.756, 1.25 , 1.365])
    """

    def __init__(self, references: References | Sequence[Sequence[Sentence]]) -> None:
        self.references = as_references(references)
        self._ngrams = _collect(self.references)
        self._unseen = float(np.log(self.references.n_images)) ** 2
        self._norms = _norms(self.references.sentences, self._ngrams.counts, self._ngrams.squares)

    def score(self, hypotheses: Sequence[Sentence], variant: Variant = "cider-d") -> Scores:
        """One hypothesis per image: the mean over its references, and over the collection."""
        image_of = self.references.image_of
        packed = self.references.pack_one_per_image(hypotheses)
        pairs = self._pairs(packed, image_of, np.arange(len(image_of)), variant)
        each = np.bincount(image_of, pairs) / np.bincount(image_of)
        return Scores(float(each.mean()), each)

    def pairs(
        self,
        hypotheses: Sequence[Sentence],
        hypothesis_of: ArrayLike,
        reference_of: ArrayLike,
        variant: Variant = "cider-d",
    ) -> FloatArray:
        """Similarity of single sentences, as consensus reranking needs it.

        Args:
            hypotheses: Any number of sentences.
            hypothesis_of: (n_pairs,) index of a hypothesis.
            reference_of: (n_pairs,) index of a reference sentence, counted through all images.
            variant: `"cider-d"` or `"cider"`.

        Returns:
            (n_pairs,) scores. Their mean over the references of an image is what `score` gives its hypothesis.
        """
        packed = self.references.pack(hypotheses)
        return self._pairs(packed, *as_pairs(packed, self.references, hypothesis_of, reference_of), variant)

    def _pairs(self, packed: Packed, hypothesis_of: IntArray, reference_of: IntArray, variant: Variant) -> FloatArray:
        if variant not in get_args(Variant):
            raise SeesayError(f"there is no CIDEr variant {variant!r}", allowed=get_args(Variant))
        references, ngrams = self.references.sentences, self._ngrams
        products = np.zeros((len(hypothesis_of), N))
        for matches in match(packed, references, hypothesis_of, reference_of):
            pair_of_word = matches.pair_of_word()
            for n, masks in enumerate(matches.ngrams(N)):
                hits = np.flatnonzero(masks)
                words = matches.words[hits]
                count = count_bits(masks[hits])
                if variant == "cider-d":
                    count = np.minimum(count, ngrams.counts[n, words])
                product = np.bincount(pair_of_word[hits], count * ngrams.squares[n, words], len(matches.pairs))
                products[matches.pairs, n] = product
        norms = self._norms_of(packed)[hypothesis_of] * self._norms[reference_of]
        cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
        scores: FloatArray = 10.0 * cosines.mean(axis=1)
        if variant == "cider-d":
            n_bigrams, n_reference_bigrams = (np.maximum(some.lengths - 1, 0) for some in (packed, references))
            difference = n_bigrams[hypothesis_of] - n_reference_bigrams[reference_of]
            scores *= np.exp(-(difference**2) / (2 * _SIGMA**2))
        return scores

    def _norms_of(self, packed: Packed) -> FloatArray:
        """(n_hypotheses, 4) length of each hypothesis as a vector of weights."""
        counts = np.zeros((N, len(packed.ids)), np.int64)
        every = np.arange(len(packed.lengths))
        for matches in match(packed, packed, every, every):
            for n, masks in enumerate(matches.ngrams(N)):
                counts[n, matches.words] = count_bits(masks)
        squares = np.zeros((N, len(packed.ids)))
        shorter = np.zeros(len(packed.ids), np.int64)
        for n, (keys, places) in enumerate(_keys(packed, shorter, self.references.sentences.n_ids)):
            known = self._ngrams.keys[n]
            number = np.searchsorted(known, keys)
            seen = known[np.minimum(number, len(known) - 1)] == keys if len(known) else np.zeros(len(keys), bool)
            shorter[places] = np.where(seen, number, _UNSEEN)
            squares[n, places[seen]] = self._ngrams.weights[n][number[seen]]
            squares[n, places[~seen]] = self._unseen
        return _norms(packed, counts, squares)


@dataclass(frozen=True, slots=True)
class _Ngrams:
    """The n-grams of the references, and what is known at each place where one begins; n from 1 to 4."""

    keys: list[IntArray]  # 4 times (n_ngrams,) ascending
    weights: list[FloatArray]  # 4 times (n_ngrams,) squared idf
    counts: IntArray  # (4, n_ids) occurrences in the same sentence
    squares: FloatArray  # (4, n_ids) squared idf


def _collect(references: References) -> _Ngrams:
    sentences = references.sentences
    n_ids = len(sentences.ids)
    sentence_of = np.repeat(np.arange(len(sentences.lengths)), sentences.lengths + 1)
    image_of = references.image_of[sentence_of]
    shorter = np.zeros(n_ids, np.int64)
    found = _Ngrams([], [], np.zeros((N, n_ids), np.int64), np.zeros((N, n_ids)))
    for n, (keys, places) in enumerate(_keys(sentences, shorter, sentences.n_ids)):
        keys, places = _sort(keys, places)  # equal n-grams together, in the order of images and sentences
        is_new = np.diff(keys, prepend=-1) != 0
        is_new_image = is_new | (np.diff(image_of[places], prepend=-1) != 0)
        is_new_sentence = is_new | (np.diff(sentence_of[places], prepend=-1) != 0)
        number, in_sentence = np.cumsum(is_new) - 1, np.cumsum(is_new_sentence) - 1
        n_images = np.bincount(number[is_new_image])
        weights = (np.log(references.n_images) - np.log(n_images)) ** 2
        found.keys.append(keys[is_new])
        found.weights.append(weights)
        found.counts[n, places] = np.bincount(in_sentence)[in_sentence]
        found.squares[n, places] = weights[number]
        shorter[places] = number
    return found


def _keys(sentences: Packed, shorter: IntArray, n_known: int) -> Iterator[tuple[IntArray, IntArray]]:
    """For n from 1 to 4, one number per n-gram and the place where it begins.

    An n-gram is its first n-1 words and its last one. The caller writes into `shorter`, before asking for the next n,
    which number the n-gram at each place has. Words from `n_known` on are all the same unseen word.
    """
    ends = np.repeat(sentences.starts + sentences.lengths, sentences.lengths + 1)
    n_left = ends - np.arange(len(ends))  # words from here to the end of the sentence
    ids = np.minimum(sentences.ids, n_known)
    for n in range(1, N + 1):
        places = np.flatnonzero(n_left >= n)
        yield (shorter[places] << n_known.bit_length()) | ids[places + n - 1], places


def _sort(keys: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
    """Both, by key and then by place. Sorting one number made of both is many times faster than an argsort."""
    n_bits = int(places.max(initial=0)).bit_length()
    if int(keys.max(initial=0)).bit_length() + n_bits < 64:
        both = np.sort((keys << n_bits) | places)
        return both >> n_bits, both & ((1 << n_bits) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], places[order]


def _norms(sentences: Packed, counts: IntArray, squares: FloatArray) -> FloatArray:
    """(n_sentences, 4) length of each sentence as a vector of tf-idf weights."""
    return np.sqrt(np.add.reduceat(counts * squares, sentences.starts, axis=1)).T
