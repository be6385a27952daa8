"""Words of a query that say what is to be seen, and the word for a probability."""

from seesay.settings.calibration import MOST_WORDS as MOST_WORDS
from seesay.settings.calibration import Calibration as Calibration
from seesay.text.tokens import tokenize

WORDS = (("likely", 0.3), ("maybe", 0.1), ("unlikely", 0.0))
"""Each with the probability from which it is used."""

_SAID_OF_NOTHING = (
    "a an the this that these those some another other one of in on at to into onto over under up down out off by for "
    "from with without near and or while as is are was were be being been has have had it its he his she her they "
    "their there who which 's very"
)
_FUNCTION_WORDS = frozenset(_SAID_OF_NOTHING.split())


def content_words(sentence: str) -> list[str]:
    """The words of a sentence that say what is to be seen.

    Example:
        >>> content_words("Two dogs are playing in the snow")
        ['two', 'dogs', 'playing', 'snow']
    """
    return [word for word in tokenize(sentence) if word not in _FUNCTION_WORDS]


def word_for(probability: float) -> str:
    """How a person would say it.

    Example:
        >>> [word_for(p) for p in (0.4, 0.2, 0.01)]
        ['likely', 'maybe', 'unlikely']
    """
    return next(word for word, least in WORDS if probability >= least)
