"""CIDEr and CIDEr-D (Vedantam et al. 2015): agreement with the references in the n-grams that few images share.

A sentence is a vector of its 1- to 4-grams, weighted by how often they occur in it and by how few images have them in
their references (tf-idf). CIDEr is the mean cosine of hypothesis and references, CIDEr-D also clips repeated n-grams
and penalises a difference in length with a Gaussian (sigma 6). Both are multiplied by 10.

What `pycocoevalcap` calls CIDEr is CIDEr-D, and the figures here equal it. Like there, the length is counted in
bigrams, words are not stemmed, and an n-gram that no reference has weighs as if one image had it. The weights come from
the references: a collection of one image has no rare n-grams, and everything scores 0. So does an empty hypothesis.
Where the references are few, a table of document frequencies of a larger collection says what is rare.

Every n-gram is kept at the word where it begins, once per occurrence. With c occurrences in a reference and h in a
hypothesis, an n-gram of weight w adds `min(h, c) w · c w` to CIDEr-D's product: each occurrence adds `min(h, c) w²`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray
from seesay.metrics.frequencies import DocumentFrequencies, square_weights
from seesay.metrics.matches import as_pairs, count_bits, match
from seesay.metrics.ngrams import N, count_ngrams
from seesay.metrics.sentences import Packed, References, Scores, Sentence, as_references

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

_SIGMA = 6.0

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
        references: For each image, one sentence or more.
        frequencies: How rare an n-gram is; the references themselves say so where this is not given.

    Example:
        >>> scorer = CiderScorer([["a dog runs", "one dog"], ["two cats sit"]])
        >>> scorer.pairs(["a dog", "cats"], [0, 0, 1], [0, 1, 2]).round(3)
        array([3.756, 1.25 , 1.365])
    """

    def __init__(
        self,
        references: References | Sequence[Sequence[Sentence]],
        frequencies: DocumentFrequencies | None = None,
    ) -> None:
        if frequencies is not None:
            references = _pack_over(frequencies, references)
        self.references = as_references(references)
        counts = count_ngrams(self.references)
        if frequencies is None:
            words, n_images = self.references.words, self.references.n_images
            self.frequencies = DocumentFrequencies(words, n_images, 1, counts.keys, counts.n_images)
            self._squares = square_weights(counts.in_images, n_images)  # (4, n_ids) squared idf
        else:
            self.frequencies = frequencies
            self._squares = frequencies.square_weights(self.references.sentences)
        self._counts = counts.in_sentence  # (4, n_ids)
        self._norms = _norms(self.references.sentences, self._counts, self._squares)

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
        references = self.references.sentences
        products = np.zeros((len(hypothesis_of), N))
        for matches in match(packed, references, hypothesis_of, reference_of):
            pair_of_word = matches.pair_of_word()
            for n, masks in enumerate(matches.ngrams(N)):
                hits = np.flatnonzero(masks)
                words = matches.words[hits]
                count = count_bits(masks[hits])
                if variant == "cider-d":
                    count = np.minimum(count, self._counts[n, words])
                product = np.bincount(pair_of_word[hits], count * self._squares[n, words], len(matches.pairs))
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
        return _norms(packed, counts, self.frequencies.square_weights(packed))


def _pack_over(frequencies: DocumentFrequencies, references: References | Sequence[Sequence[Sentence]]) -> References:
    """References in the ids of a table."""
    if not isinstance(references, References):
        return References(references, frequencies.words)
    known = references.words
    if not all(known.get(word) == number for word, number in frequencies.words.items()):
        raise SeesayError(
            "the references were packed without the words of the document frequencies",
            hint="References(sentences, frequencies.words)",
        )
    return references


def _norms(sentences: Packed, counts: IntArray, squares: FloatArray) -> FloatArray:
    """(n_sentences, 4) length of each sentence as a vector of tf-idf weights."""
    return np.sqrt(np.add.reduceat(counts * squares, sentences.starts, axis=1)).T
