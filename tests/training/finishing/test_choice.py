"""How sure an embedding may be of its choice."""

import numpy as np
import pytest

from seesay.training.finishing.choice import choice_error, fit_choice, trial_scores


def test_the_right_image_comes_first() -> None:
    owners = np.repeat(np.arange(12), 2)
    scores = (np.arange(12)[:, None] == owners).astype(np.float32)
    drawn = trial_scores(scores, owners)
    assert drawn.shape == (2000, 10)
    assert (drawn[:, 0] == 1).all()
    assert (drawn[:, 1:] == 0).all()


def test_the_temperature_that_made_the_choices_is_found_again() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20000, 5))
    chances = np.exp(logits / 0.4)
    chances /= chances.sum(1, keepdims=True)
    right = (chances.cumsum(1) > rng.random((len(logits), 1))).argmax(1)
    rows = np.arange(len(logits))
    logits[rows, 0], logits[rows, right] = logits[rows, right], logits[rows, 0].copy()
    found = fit_choice([logits[:9000], logits[9000:]])
    assert found == pytest.approx(0.4, rel=0.05)
    assert choice_error(logits, found) < 1 < choice_error(logits, 4.0)
