"""What a cosine is worth: the probability that a photo fits a sentence, and a word for it.

A photo fits a sentence where people who describe it say every content word of the sentence, in whatever form. That is
harder for a long sentence than for a word, so the curve depends on how many content words there are. And it is never
certain, however plainly the photo shows it: nobody says everything. So the curve has a ceiling.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.errors import SeesayError

WORDS = (("likely", 0.3), ("maybe", 0.1), ("unlikely", 0.0))
"""Each with the probability from which it is used."""
CEILINGS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
MOST_WORDS = 6
"""Longer sentences count as this long: nobody else says the same thing in as many words."""


@dataclass(frozen=True, slots=True)
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
    ceiling: float = 1.0

    def probability(self, cosines: ArrayLike, n_words: int) -> NDArray[np.float64]:
        n = _length(n_words)
        slope, offset = self.slope + n * self.slope_per_word, self.offset + n * self.offset_per_word
        return self.ceiling * _sigmoid(slope * np.asarray(cosines, np.float64) + offset)

    def to_table(self) -> dict[str, float]:
        """What stands in config.json under `calibration`."""
        return {key: round(value, 4) for key, value in asdict(self).items()}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Calibration":
        """Read what `to_table` gave; further keys are remarks."""
        keys = tuple(cls.__dataclass_fields__)[:4]
        if not isinstance(table, Mapping) or not all(isinstance(table.get(key), int | float) for key in keys):
            raise SeesayError(f"{origin}: 'calibration' is {table!r}", allowed=f"an object with {', '.join(keys)}")
        ceiling = table.get("ceiling", 1.0)
        if not isinstance(ceiling, int | float) or not 0 < ceiling <= 1:
            raise SeesayError(f"{origin}: the ceiling of 'calibration' is {ceiling!r}", allowed="above 0, up to 1")
        return cls(**{key: float(table[key]) for key in keys}, ceiling=float(ceiling))


def word_for(probability: float) -> str:
    """How a person would say it.

    Example:
        >>> [word_for(p) for p in (0.4, 0.2, 0.01)]
        ['likely', 'maybe', 'unlikely']
    """
    return next(word for word, least in WORDS if probability >= least)


def fit_calibration(
    cosines: ArrayLike, fits: ArrayLike, n_words: ArrayLike, ceilings: Sequence[float] = CEILINGS
) -> Calibration:
    """The curve that makes what was observed most probable: logistic regression under each ceiling, by Fisher scoring.

    Args:
        cosines: (n,) of pairs of a photo and a sentence as they occur in a library, where most do not fit.
        fits: (n,) whether they fit.
        n_words: (n,) content words of each pair's sentence.
        ceilings: Those that are tried.

    Raises:
        SeesayError: All pairs fit, or none, or the curve would be a step.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> cosines, n_words = rng.uniform(0, 1, 40_000), rng.integers(1, 5, 40_000)
        >>> fits = rng.random(40_000) < 0.6 / (1 + np.exp(-((8 + n_words) * cosines - 3 - n_words)))
        >>> curve = fit_calibration(cosines, fits, n_words)
        >>> curve.ceiling, round(float(curve.probability(0.5, n_words=2)), 1)
        (0.6, 0.3)
    """
    x, y = np.asarray(cosines, np.float64), np.asarray(fits, np.float64)
    n = _length(np.asarray(n_words, np.float64))
    share = float(y.mean()) if len(y) else 0.0
    if not 0 < share < 1:
        raise SeesayError(f"of {len(x)} pairs {share:.0%} fit", allowed="some that fit and some that do not")
    design = np.stack([x, n * x, np.ones_like(x), n], 1)  # (N, 4)
    scale = np.abs(design).max(0)
    design /= scale  # so that no step is badly scaled
    tried = [(ceiling, _fit_under(ceiling, design, y, share)) for ceiling in ceilings if ceiling > share]
    ceiling, beta = max(tried, key=lambda found: _log_likelihood(found[0] * _sigmoid(design @ found[1]), y))
    if np.abs(y - ceiling * _sigmoid(design @ beta)).max() < 1e-3:
        raise SeesayError("pairs that fit and pairs that do not are wholly apart: no curve is the best")
    slope, slope_per_word, offset, offset_per_word = (float(value) for value in beta / scale)
    return Calibration(slope, slope_per_word, offset, offset_per_word, ceiling)


def _fit_under(
    ceiling: float, design: NDArray[np.float64], y: NDArray[np.float64], share: float
) -> NDArray[np.float64]:
    """The coefficients of the best curve that does not rise above the ceiling."""
    beta = np.array([0.0, 0.0, np.log(share / (ceiling - share)), 0.0])
    for _ in range(100):
        rise = _sigmoid(design @ beta)
        p = np.clip(ceiling * rise, 1e-12, 1 - 1e-12)
        slope = ceiling * rise * (1 - rise)  # dp/dz
        doubt = p * (1 - p)
        curvature = (design * (slope * slope / doubt)[:, None]).T @ design
        # The least norm among the solutions: where all sentences are equally long, they are many.
        step = np.linalg.lstsq(curvature, design.T @ ((y - p) * slope / doubt), rcond=1e-10)[0]
        step *= min(1.0, 10.0 / float(np.abs(step).max() or 1.0))  # far from the best curve the step is too long
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    return beta


def _log_likelihood(p: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return float((y * np.log(p) + (1 - y) * np.log(1 - p)).sum())


def _length(n_words: Any) -> Any:
    return np.clip(n_words, 1, MOST_WORDS)


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))  # this form cannot overflow
