"""A mean with its confidence interval, by bootstrap."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean, and where 95 % of means lie when groups of values are drawn again."""

    mean: float
    low: float
    high: float


def estimate(values: Floats, groups: NDArray[np.int64], n_draws: int = 2000) -> Estimate:
    """The mean of values with its interval, by bootstrap over the groups that they belong to, such as photos.

    Example:
        >>> estimate(np.array([100.0, 0.0, 100.0, 0.0]), np.array([0, 0, 1, 1]))
        Estimate(mean=50.0, low=50.0, high=50.0)
    """
    _, places = np.unique(groups, return_inverse=True)
    totals, counts = np.bincount(places, values), np.bincount(places)
    drawn = np.random.default_rng(0).integers(len(totals), size=(n_draws, len(totals)))
    low, high = np.quantile(totals[drawn].sum(1) / counts[drawn].sum(1), [0.025, 0.975])
    return Estimate(round(float(values.mean()), 2), round(float(low), 2), round(float(high), 2))
