"""An identifier's logits as probabilities, calibrated as its weights say."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Calibration = tuple[float, float, float]
"""Temperature and offset of P(match), temperature of the choice among images."""


def match_probability(calibration: Calibration, logits: NDArray[np.float32]) -> Floats:
    """P(match), where half of all pairs match: for images that stand alone."""
    temperature, offset, _ = calibration
    found: Floats = 1 / (1 + np.exp(-(logits.astype(np.float64) / temperature + offset)))
    return found


def choice_probability(calibration: Calibration, logits: NDArray[np.float32]) -> Floats:
    """The probability of each image, the candidates of a sentence in the last dimension, to be the one meant."""
    scaled = logits.astype(np.float64) / calibration[2]
    chances = np.exp(scaled - scaled.max(-1, keepdims=True))
    found: Floats = chances / chances.sum(-1, keepdims=True)
    return found
