"""A query as search sees it: sentences that a photo is to fit or not to fit, and photos that it is to be like."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np

from seesay.library.ranking.encoding import QueryEncoder
from seesay.library.ranking.tags import Clue, find_clues
from seesay.library.tag_names import classes_named
from seesay.library.types import Vector
from seesay.text.typed.known_words import Reading, read_words
from seesay.text.typed.queries import TypedQuery, read_typed


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a query.

    Attributes:
        vector: (D,), of unit length, or of length zero where no word of it is known.
        n_words: How many content words it has.
        clues: What its rare words say about tags.
        text: As it is read, for later stages.
        reading: How the model reads it; a word that names a tag is not unknown.
        rarest: How often training saw the rarest of its content words.
    """

    vector: Vector
    n_words: int
    clues: tuple[Clue, ...] = ()
    text: str = ""
    reading: Reading = field(default_factory=Reading)
    rarest: int = 0

    @property
    def is_lost(self) -> bool:
        """Whether it says nothing that search could go by."""
        return self.reading.is_lost

    @property
    def classes(self) -> set[int]:
        return {number for clue in self.clues for number in clue.classes}


def read_sentence(encoder: QueryEncoder, written: str, *, exact: bool = False) -> Sentence:
    """A sentence of a query as a person has written it: everything that is to be known of its words, found once.

    Args:
        exact: Take every word as it is written, however it is spelled.
    """
    reading = read_words(written, encoder.words, exact=exact, is_named=lambda word: bool(classes_named(word)))
    counts = encoder.count_words(reading.text)
    clues = () if reading.language else find_clues(counts, encoder.tag_settings)
    vector = encoder.encode_text(reading.text)
    if reading.is_lost or (clues and not any(counts.values())):
        vector = np.zeros_like(vector)  # words that were never seen have no direction
    helped = {clue.word for clue in clues}
    unknown = tuple(word for word in reading.unknown if word not in helped)
    reading = replace(reading, unknown=unknown, is_lost=reading.is_lost and not clues)
    rarest = encoder.tag_settings.rarest(counts, classes_named)
    return Sentence(vector, len(counts), clues, reading.text, reading, rarest)


@dataclass(frozen=True, slots=True)
class Query:
    """The terms of a query.

    Attributes:
        fits: Sentences that the photo is to fit.
        unlike: Sentences that it is not to fit.
        like: Vectors of photos that it is to be like.
        typed: What was understood of the text that a person has typed.
    """

    fits: tuple[Sentence, ...] = ()
    unlike: tuple[Sentence, ...] = ()
    like: tuple[Vector, ...] = ()
    typed: TypedQuery = field(default_factory=TypedQuery)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to rank photos by."""
        return not (self.fits or self.unlike or self.like)

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """Those to fit, then those not to fit."""
        return (*self.fits, *self.unlike)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """How the model reads each sentence."""
        return tuple(sentence.reading for sentence in self.sentences)

    def without_lost(self) -> "Query":
        """The query without sentences that say nothing that search could go by."""
        fits, unlike = ([each for each in terms if not each.is_lost] for terms in (self.fits, self.unlike))
        return replace(self, fits=tuple(fits), unlike=tuple(unlike))

    def direction(self) -> Vector:
        """Where everything that is wanted lies, or away from what is not, where nothing else is said: (D,)."""
        wanted = [*(sentence.vector for sentence in self.fits), *self.like]
        total = np.sum(wanted or [-sentence.vector for sentence in self.unlike], axis=0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), np.float32)


def read_query(
    encoder: QueryEncoder,
    text: str,
    plus: Sequence[str] = (),
    minus: Sequence[str] = (),
    *,
    exact: bool = False,
    today: date | None = None,
) -> Query:
    """A query as a person has typed it.

    Args:
        text: May say what photos do not show and when they are from, too (`seesay.text.typed.queries`).
        plus: Further sentences that a photo is to fit.
        minus: Sentences that it is not to fit.
        exact: Take the text, and every word of it, as it stands.
        today: What "last summer" is counted from; by default the day that it is.
    """
    typed = TypedQuery(text) if exact else read_typed(text, today or date.today())
    fits, unlike = (
        tuple(read_sentence(encoder, each, exact=exact) for each in texts if each.strip())
        for texts in ((typed.text, *plus), (*typed.without, *minus))
    )
    return Query(fits, unlike, typed=typed)
