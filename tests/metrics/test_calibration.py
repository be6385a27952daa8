"""Calibration: what is said against what is true, by hand and on made-up forecasters."""

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.metrics.calibration import expected_calibration_error, fit_temperature, reliability


def test_a_forecaster_who_is_right_as_often_as_said_has_no_error() -> None:
    said = np.repeat([0.25, 0.75], 4)
    true = np.array([1, 0, 0, 0, 1, 1, 1, 0])
    assert expected_calibration_error(said, true) == 0


def test_the_error_is_the_mean_distance_weighted_by_how_often_it_was_said() -> None:
    said = [0.95] * 3 + [0.15]
    true = [True, True, False, True]
    assert expected_calibration_error(said, true) == pytest.approx(3 / 4 * (0.95 - 2 / 3) + 1 / 4 * 0.85)


def test_one_belongs_to_the_last_interval() -> None:
    (only,) = reliability([1.0, 0.9], [True, False])
    assert only == {"predicted": pytest.approx(0.95), "observed": 0.5, "n": 2}


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_the_temperature_undoes_a_factor_on_the_logits_of_a_choice(factor: float) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (20_000, 4))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = (shares.cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
    assert fit_temperature(factor * logits, right) == pytest.approx(factor, rel=0.05)


def test_the_temperature_is_where_the_likelihood_is_highest() -> None:
    logits, right = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0]]), np.array([0, 0, 1])
    # Two in three are right, so the share of the first should be 2/3: 2 / T = log 2.
    assert fit_temperature(logits, right) == pytest.approx(2 / np.log(2), rel=1e-3)


def test_a_claim_is_a_choice_against_nothing() -> None:
    logits, true = np.array([1.5, 1.5, 1.5, -0.5]), np.array([True, True, False, False])
    against = np.stack([np.zeros(4), logits], 1)
    assert fit_temperature(logits, true) == fit_temperature(against, true.astype(int))


@pytest.mark.parametrize(("said", "true"), [([1.2], [True]), ([], []), ([0.5, 0.5], [True]), ([float("nan")], [True])])
def test_what_are_no_probabilities_is_refused(said: list[float], true: list[bool]) -> None:
    with pytest.raises(SeesayError):
        expected_calibration_error(said, true)


@pytest.mark.parametrize(
    ("logits", "right"), [(np.zeros((2, 2, 2)), [0, 0]), (np.zeros((2, 2)), [0]), (np.array([np.inf]), [True])]
)
def test_what_are_no_logits_is_refused(logits: np.ndarray, right: list[int]) -> None:
    with pytest.raises(SeesayError):
        fit_temperature(logits, right)
