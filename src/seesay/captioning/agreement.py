"""How far a caption agrees with what its captioner says of the image on the whole.

A captioner's likeliest sentences are few of the many that it could say, and often not typical of them. Here it also
draws a number of captions, and a caption counts for as much as its expected CIDEr-D with these: minimum Bayes risk
decoding (Kumar and Byrne 2004), with the captioner in the place of the people.

Every image is drawn for with the same random numbers, so that what is said of it depends on nothing but the image.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seesay.captioning.decoding import sample
from seesay.captioning.reranking import FREQUENCIES, read_frequencies
from seesay.captioning.sentences import Caption
from seesay.captioning.settings import Settings
from seesay.errors import SeesayError
from seesay.images.arrays import Floats
from seesay.metrics.cider import CiderScorer
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.runtime.protocol import Answering

TEMPERATURE = 0.7
"""Below 1 the draws are closer to what is written in the end; at 0.5 they differ too little from it."""
TOP_K = 50
"""Words that a draw chooses among: the others have next to no probability, and take most of the time."""
SEED = 0


class Agreement:
    """Compares captions with draws of their captioner.

    Args:
        captioner: Whose captions are compared.
        n_draws: Captions that it draws of each image.

    Raises:
        SeesayError: No table of n-grams lies with its weights.
    """

    def __init__(self, captioner: Answering, n_draws: int) -> None:
        frequencies = read_frequencies(captioner)
        if frequencies is None:
            raise SeesayError(f"the weights of {captioner.name} have no {FREQUENCIES}", hint="matching.agreement of 0")
        self._captioner, self._frequencies, self._n_draws = captioner, frequencies, n_draws

    def scores(
        self, captions: Sequence[Sequence[Caption]], images: Floats, settings: Settings
    ) -> list[NDArray[np.float64]]:
        """The mean CIDEr-D of each caption of encoded images (n, D) with the draws of its image."""
        drawn = sample(
            self._captioner, self._captioner.start(images), temperature=TEMPERATURE, top_k=TOP_K, seed=SEED,
            n=self._n_draws, is_alike=True, min_length=settings.min_length, max_length=settings.max_length,
            no_repeat=settings.no_repeat,
        )  # fmt: skip
        spelled = self._captioner.vocabulary.decode
        return expected_cider(
            [[caption.words for caption in own] for own in captions],
            [[spelled(each.words) for each in own] for own in drawn],
            self._frequencies,
        )


def expected_cider(
    captions: Sequence[Sequence[Sequence[str]]],
    drawn: Sequence[Sequence[Sequence[str]]],
    frequencies: DocumentFrequencies,
) -> list[NDArray[np.float64]]:
    """The mean CIDEr-D of each caption of an image with all that were drawn of it.

    Example:
        >>> table = DocumentFrequencies.build([["a dog runs"], ["a dog sits"], ["a cat"], ["two birds"]])
        >>> (found,) = expected_cider([["a dog".split(), "a cat".split()]], [["a dog".split()] * 3], table)
        >>> found.round(2).tolist()
        [5.0, 0.19]
    """
    scorer = CiderScorer(drawn, frequencies)
    firsts, n_drawn = scorer.references.starts, np.array([len(own) for own in drawn])
    image_of = np.repeat(np.arange(len(captions)), [len(own) for own in captions])
    counts = n_drawn[image_of]
    caption_of = np.repeat(np.arange(len(image_of)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = scorer.pairs(
        [words for own in captions for words in own], caption_of, firsts[image_of][caption_of] + within
    )
    means = np.bincount(caption_of, pairs, len(image_of)) / counts
    return np.split(means, np.cumsum([len(own) for own in captions])[:-1])
