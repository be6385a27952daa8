"""From a cosine to the probability that a photo fits a sentence.

A photo fits a sentence where people who describe it say every content word of the sentence, in whatever form. That is
harder for a long sentence than for a word, so the curve depends on how many content words there are. And it is never
certain, however plainly the photo shows it: nobody says everything. So the curve has a ceiling.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.metrics.calibration import sigmoid
from seesay.system.tables import read_table

MOST_WORDS = 6
"""Longer sentences count as this long: nobody else says the same thing in as many words."""


@dataclass(frozen=True)
class Calibration:
    """P(fits) = ceiling / (1 + exp(-(slope · cosine + offset))), both linear in the number n of content words.

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

    def probability(self, cosines: ArrayLike, n_words: ArrayLike) -> NDArray[np.float64]:
        """Of a cosine with a sentence of so many content words; one number of words for all, or one for each."""
        n = count_words(n_words)
        slope, offset = self.slope + n * self.slope_per_word, self.offset + n * self.offset_per_word
        return self.ceiling * sigmoid(slope * np.asarray(cosines, np.float64) + offset)

    def to_table(self) -> dict[str, float]:
        """What stands in config.json under `calibration`."""
        return {key: round(value, 4) for key, value in asdict(self).items()}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Calibration":
        """Read what `to_table` gave; further keys are remarks."""
        return read_table(cls, table, origin, "calibration.", remarks=True)


def count_words(n_words: ArrayLike) -> NDArray[np.float64]:
    """Numbers of content words as the curve counts them."""
    return np.clip(np.asarray(n_words, np.float64), 1, MOST_WORDS)
