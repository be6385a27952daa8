"""The words for probabilities: likely, maybe, unlikely."""

from seesay.settings.calibration import MOST_WORDS as MOST_WORDS
from seesay.settings.calibration import Calibration as Calibration

LIKELY = "likely"
LEAST_LIKELY = 0.3
WORDS = ((LIKELY, LEAST_LIKELY), ("maybe", 0.1), ("unlikely", 0.0))
"""Each with the probability from which it is used."""


def word_for(probability: float) -> str:
    """How a person would say it: by the whole percentage that is shown beside it.

    Example:
        >>> [word_for(p) for p in (0.4, 0.2, 0.01, 0.096)]
        ['likely', 'maybe', 'unlikely', 'maybe']
    """
    return next(word for word, least in WORDS if round(100 * probability) >= round(100 * least))
