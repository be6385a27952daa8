"""A query as search sees it: sentences that a photo is to fit or not to fit, and photos that it is to be like."""

from dataclasses import dataclass

import numpy as np

from seesay.library.ranking.encoding import QueryEncoder
from seesay.library.ranking.tags import Clue, find_clues
from seesay.library.types import Vector


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a query.

    Attributes:
        vector: (D,), of unit length, or of length zero where no word of it is known.
        n_words: How many content words it has.
        clues: What its rare words say about tags.
        text: As it was written, for later stages.
        unknown: Its content words that the model has never learned and that name no tag.
    """

    vector: Vector
    n_words: int
    clues: tuple[Clue, ...] = ()
    text: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def classes(self) -> set[int]:
        return {number for clue in self.clues for number in clue.classes}


def read_sentence(encoder: QueryEncoder, text: str) -> Sentence:
    """A sentence of a query as a person has written it: everything that is to be known of its words, found once."""
    counts = encoder.count_words(text)
    vector, clues = encoder.encode_text(text), find_clues(counts, encoder.tag_settings)
    if clues and not any(counts.values()):
        vector = np.zeros_like(vector)  # words that were never seen have no direction
    helped = {clue.word for clue in clues}
    unknown = tuple(word for word, count in counts.items() if count == 0 and word not in helped)
    return Sentence(vector, len(counts), clues, text, unknown)


@dataclass(frozen=True, slots=True)
class Query:
    """The terms of a query.

    Attributes:
        fits: Sentences that the photo is to fit.
        unlike: Sentences that it is not to fit.
        like: Vectors of photos that it is to be like.
    """

    fits: tuple[Sentence, ...] = ()
    unlike: tuple[Sentence, ...] = ()
    like: tuple[Vector, ...] = ()

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """Those to fit, then those not to fit."""
        return (*self.fits, *self.unlike)

    @property
    def unknown_words(self) -> tuple[str, ...]:
        """Words that were of no use."""
        return tuple(word for sentence in self.sentences for word in sentence.unknown)

    def direction(self) -> Vector:
        """Where everything that is wanted lies: (D,)."""
        total = np.sum([*(sentence.vector for sentence in self.fits), *self.like], axis=0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), np.float32)
