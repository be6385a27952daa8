"""Trials: drawn the same again, fair to every rival, and judged."""

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.metrics.identification import draw_trials, identification_accuracy

IMAGE_OF = np.repeat(np.arange(6), 5)


def test_the_right_picture_comes_first_and_no_picture_twice() -> None:
    trials = draw_trials(IMAGE_OF, 500, 4, seed=1)
    assert (trials.images[:, 0] == IMAGE_OF[trials.texts]).all()
    assert all(len(set(row)) == 4 for row in trials.images.tolist())


def test_the_same_seed_draws_the_same() -> None:
    first, second, third = (draw_trials(IMAGE_OF, 50, seed=seed) for seed in (3, 3, 4))
    assert (first.images == second.images).all()
    assert (first.images != third.images).any()


def test_every_other_picture_is_as_likely_a_rival() -> None:
    trials = draw_trials(IMAGE_OF, 6000, 2)
    steps = (trials.images[:, 1] - trials.images[:, 0]) % 6
    counts = np.bincount(steps, minlength=6)
    assert counts[0] == 0
    assert counts[1:].min() > 1050


def test_given_rivals_are_taken_in_their_order() -> None:
    rivals = np.array([[1, 2, 3], [0, 4, 5]] + [[0, 1, 5]] * 4)
    trials = draw_trials(IMAGE_OF, 200, 3, rivals=rivals)
    assert (trials.images[:, 1:] == rivals[trials.images[:, 0], :2]).all()


def test_a_tie_is_no_success() -> None:
    assert identification_accuracy([[1.0, 1.0], [2.0, 1.0]]) == 50


@pytest.mark.parametrize(
    ("n_trials", "n_candidates", "rivals"), [(1, 7, None), (0, 2, None), (1, 1, None), (1, 3, np.ones((6, 1), int))]
)
def test_impossible_trials_are_refused(n_trials: int, n_candidates: int, rivals: np.ndarray | None) -> None:
    with pytest.raises(SeesayError):
        draw_trials(IMAGE_OF, n_trials, n_candidates, rivals=rivals)


@pytest.mark.parametrize("scores", [[[1.0]], np.zeros((0, 2)), [[1.0, float("nan")]]])
def test_what_are_no_scores_is_refused(scores: list[list[float]]) -> None:
    with pytest.raises(SeesayError, match="2 or more candidates"):
        identification_accuracy(scores)
