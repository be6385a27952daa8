"""How sure a joint embedding may be of its choice among images: one temperature, fitted to ten-way trials on dev."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seesay.metrics.calibration import expected_calibration_error, fit_temperature
from seesay.metrics.identification import draw_trials

N_CANDIDATES = 10
N_TRIALS = 2000
"""Trials of each collection."""

Scores = NDArray[np.float32]


def trial_scores(scores: Scores, owners: NDArray[np.int64], *, seed: int = 0) -> NDArray[np.float64]:
    """The scores (n, k) of the images of trials, the right one first.

    Args:
        scores: (n_images, n_texts).
        owners: (n_texts,) the image that each sentence was written about.
        seed: Of the trials.
    """
    trials = draw_trials(owners, N_TRIALS, min(N_CANDIDATES, len(scores)), seed=seed)
    return np.asarray(scores, np.float64)[trials.images, trials.texts[:, None]]


def fit_choice(drawn: Sequence[NDArray[np.float64]]) -> float:
    """The temperature that makes the right images of all trials together likeliest."""
    logits = np.concatenate(drawn)
    return fit_temperature(logits, np.zeros(len(logits), int))


def choice_error(logits: NDArray[np.float64], temperature: float) -> float:
    """The calibration error of the probability of the chosen image, in percent."""
    scaled = logits / temperature
    chances = np.exp(scaled - scaled.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    return 100 * expected_calibration_error(chances.max(1), chances.argmax(1) == 0)
