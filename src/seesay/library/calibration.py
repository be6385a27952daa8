"""What a cosine is worth: the probability that a photo fits a sentence, and a word for it.

A photo fits a sentence where people who describe it say every content word of the sentence. That is harder for a long
sentence than for a word, so the curve depends on how many content words there are.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.errors import SeesayError
from seesay.text.tokens import tokenize

WORDS = (("likely", 0.5), ("maybe", 0.1), ("unlikely", 0.0))
"""Each with the probability from which it is used."""
MOST_WORDS = 6
"""Longer sentences count as this long: nobody else says the same thing in as many words."""

_SAID_OF_NOTHING = (
    "a an the this that these those some another other one of in on at to into onto over under up down out off by for "
    "from with without near and or while as is are was were be being been has have had it its he his she her they "
    "their there who which 's very"
)
_FUNCTION_WORDS = frozenset(_SAID_OF_NOTHING.split())


@dataclass(frozen=True, slots=True)
class Calibration:
    """P(fits) = 1 / (1 + exp(-(slope · cosine + offset))), both linear in the number n of content words.

    Example:
        >>> calibration = Calibration(slope=8.0, slope_per_word=2.0, offset=-3.0, offset_per_word=-1.0)
        >>> calibration.probability([0.4, 0.6], n_words=1).round(3).tolist()
        [0.5, 0.881]
    """

    slope: float
    slope_per_word: float
    offset: float
    offset_per_word: float

    def probability(self, cosines: ArrayLike, n_words: int) -> NDArray[np.float64]:
        n = _length(n_words)
        slope, offset = self.slope + n * self.slope_per_word, self.offset + n * self.offset_per_word
        return _sigmoid(slope * np.asarray(cosines, np.float64) + offset)

    def to_table(self) -> dict[str, float]:
        """What stands in config.json under `calibration`."""
        return {key: round(value, 4) for key, value in asdict(self).items()}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Calibration":
        """Read what `to_table` gave; further keys are remarks."""
        keys = tuple(cls.__dataclass_fields__)
        if not isinstance(table, Mapping) or not all(isinstance(table.get(key), int | float) for key in keys):
            raise SeesayError(f"{origin}: 'calibration' is {table!r}", allowed=f"an object with {', '.join(keys)}")
        return cls(*(float(table[key]) for key in keys))


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
        >>> [word_for(p) for p in (0.8, 0.2, 0.01)]
        ['likely', 'maybe', 'unlikely']
    """
    return next(word for word, least in WORDS if probability >= least)


def fit_calibration(cosines: ArrayLike, fits: ArrayLike, n_words: ArrayLike) -> Calibration:
    """The curve that makes what was observed most probable: logistic regression by Newton's method.

    Args:
        cosines: (n,) of pairs of a photo and a sentence as they occur in a library, where most do not fit.
        fits: (n,) whether they fit.
        n_words: (n,) content words of each pair's sentence.

    Raises:
        SeesayError: All pairs fit, or none, or the curve would be a step.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> cosines, n_words = rng.uniform(0, 1, 40_000), rng.integers(1, 5, 40_000)
        >>> fits = rng.random(40_000) < 1 / (1 + np.exp(-((8 + n_words) * cosines - 3 - n_words)))
        >>> {key: round(value) for key, value in fit_calibration(cosines, fits, n_words).to_table().items()}
        {'slope': 8, 'slope_per_word': 1, 'offset': -3, 'offset_per_word': -1}
    """
    x, y = np.asarray(cosines, np.float64), np.asarray(fits, np.float64)
    n = _length(np.asarray(n_words, np.float64))
    share = float(y.mean()) if len(y) else 0.0
    if not 0 < share < 1:
        raise SeesayError(f"of {len(x)} pairs {share:.0%} fit", allowed="some that fit and some that do not")
    design = np.stack([x, n * x, np.ones_like(x), n], 1)  # (N, 4)
    scale = np.abs(design).max(0)
    design /= scale  # so that no step is badly scaled
    beta = np.array([0.0, 0.0, np.log(share / (1 - share)), 0.0])
    for _ in range(100):
        p = _sigmoid(design @ beta)
        curvature = (design * (p * (1 - p))[:, None]).T @ design
        # The least norm among the solutions: where all sentences are equally long, they are many.
        step = np.linalg.lstsq(curvature, design.T @ (y - p), rcond=1e-10)[0]
        step *= min(1.0, 10.0 / float(np.abs(step).max() or 1.0))  # far from the best curve Newton's step is too long
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    if np.abs(y - _sigmoid(design @ beta)).max() < 1e-3:
        raise SeesayError("pairs that fit and pairs that do not are wholly apart: no curve is the best")
    slope, slope_per_word, offset, offset_per_word = (float(value) for value in beta / scale)
    return Calibration(slope, slope_per_word, offset, offset_per_word)


def _length(n_words: Any) -> Any:
    return np.clip(n_words, 1, MOST_WORDS)


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))  # this form cannot overflow
