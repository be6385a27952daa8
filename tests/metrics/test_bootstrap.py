"""Means with intervals."""

import numpy as np

from seesay.metrics.bootstrap import Estimate, estimate


def test_values_of_one_group_are_drawn_together() -> None:
    apart = estimate(np.array([0.0, 100.0] * 50), np.arange(100))
    together = estimate(np.array([0.0, 100.0] * 50), np.repeat(np.arange(50), 2))
    assert together == Estimate(50.0, 50.0, 50.0)
    assert apart.mean == 50
    assert 35 < apart.low < 45 < 55 < apart.high < 65


def test_a_large_group_counts_for_all_its_values() -> None:
    assert estimate(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 0, 0, 1])).mean == 0.75
