"""What a score is worth: the share of people who, shown the photo and the sentence, would say that it fits.

It is harder to fit a long sentence than a word, so the curve depends on how many content words there are. Photos of
what people hardly ever speak of are rare, so it depends on how often training captions have the rarest of them, too:
the same score says much of a dog and little of a gondola. Words and noun phrases have a curve of their own: people were
asked about sentences (`seesay.data.judgements`), and of phrases is known only who wrote them
(`seesay.training.finishing.calibration`).
"""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.metrics.calibration import sigmoid
from seesay.system.tables import read_table

MOST_WORDS = 8
"""Longer sentences count as this long: nobody else says the same thing in as many words."""


MOST_IN_A_PHRASE = 2
"""Content words of a query that has the curve of phrases: of sentences as short as this people judged hardly any."""


@dataclass(frozen=True)
class Calibration:
    """P(yes) = ceiling / (1 + exp(-(slope · score + offset))), both linear in the number n of content words.

    Attributes:
        ceiling: The largest share, where people never agree wholly.
        per_frequency: What is added to the offset for every tenfold of the rarest content word in training captions.
        phrases: The curve of queries of one or two content words, where they have their own.

    Example:
        >>> calibration = Calibration(slope=8.0, slope_per_word=2.0, offset=-3.0, offset_per_word=-1.0)
        >>> calibration.probability([0.4, 0.6], n_words=1).round(3).tolist()
        [0.5, 0.881]
    """

    slope: float
    slope_per_word: float
    offset: float
    offset_per_word: float
    ceiling: float = field(default=1.0, metadata={"above": 0, "at_most": 1})
    per_frequency: float = 0.0
    phrases: "Calibration | None" = None

    def probability(self, scores: ArrayLike, n_words: ArrayLike, rarest: ArrayLike = 0) -> NDArray[np.float64]:
        """Of a score with a sentence.

        Args:
            n_words: Content words of the sentence; one number for all scores, or one for each.
            rarest: How often training captions have the rarest of them; likewise.
        """
        n, x = count_words(n_words), np.asarray(scores, np.float64)
        slope, offset = self.slope + n * self.slope_per_word, self.offset + n * self.offset_per_word
        own = self.ceiling * sigmoid(slope * x + offset + self.per_frequency * tenfolds(rarest))
        if self.phrases is None:
            return own
        return np.where(n <= MOST_IN_A_PHRASE, self.phrases.probability(x, n, rarest), own)

    def to_table(self) -> dict[str, Any]:
        """The table `calibration` of config.json."""
        numbers = {name: round(getattr(self, name), 4) for name in (spec.name for spec in fields(self)[:-1])}
        return numbers | ({"phrases": self.phrases.to_table()} if self.phrases else {})

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Calibration":
        """Read what `to_table` gave; further keys are remarks."""
        return read_table(cls, table, origin, "calibration.", remarks=True)


def tenfolds(counts: ArrayLike) -> NDArray[np.float64]:
    """Counts of words as the curve counts them."""
    return np.log10(1 + np.asarray(counts, np.float64))


def count_words(n_words: ArrayLike) -> NDArray[np.float64]:
    """Numbers of content words as the curve counts them."""
    return np.clip(np.asarray(n_words, np.float64), 1, MOST_WORDS)
