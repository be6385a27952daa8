"""Can probabilities be taken at their word: of what is said with 0.9, nine in ten should be true."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, as_array

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

_FINEST = 1e-4  # of the logarithm of a temperature
_RANGE = (np.log(0.01), np.log(100.0))


class ReliabilityBin(TypedDict):
    """What was said and what was true, of the probabilities in one interval."""

    said: float
    true: float
    n: int


def reliability(probabilities: ArrayLike, outcomes: ArrayLike, n_bins: int = 10) -> list[ReliabilityBin]:
    """Mean probability and share that came true, over equally wide intervals; empty ones are left out.

    Args:
        probabilities: (n,) what was said.
        outcomes: (n,) whether it was true.

    Example:
        >>> reliability([0.05, 0.95, 0.97], [False, True, False], n_bins=2)
        [{'said': 0.05, 'true': 0.0, 'n': 1}, {'said': 0.96, 'true': 0.5, 'n': 2}]
    """
    said, true = _pairs(probabilities, outcomes)
    if n_bins < 1:
        raise SeesayError(f"{n_bins} intervals", allowed="1 or more")
    places = np.minimum((said * n_bins).astype(np.int64), n_bins - 1)
    return [
        {"said": float(said[own].mean()), "true": float(true[own].mean()), "n": int(own.sum())}
        for place in range(n_bins)
        if (own := places == place).any()
    ]


def expected_calibration_error(probabilities: ArrayLike, outcomes: ArrayLike, n_bins: int = 10) -> float:
    """How far what is said lies from what is true, on average over the intervals of `reliability` (Guo et al. 2017).

    Example:
        >>> round(expected_calibration_error([0.8, 0.8, 0.8, 0.8], [True, True, True, False]), 3)
        0.05
    """
    bins = reliability(probabilities, outcomes, n_bins)
    n = sum(row["n"] for row in bins)
    return float(sum(row["n"] * abs(row["said"] - row["true"]) for row in bins) / n)


def fit_temperature(logits: ArrayLike, right: ArrayLike) -> float:
    """What logits are to be divided by so that the right answers are as probable as can be (Guo et al. 2017).

    Args:
        logits: (n, k) of k choices each, one of which is right; or (n,) of single claims.
        right: (n,) the place of the right choice; or whether the claim is true.

    Returns:
        Between 0.01 and 100.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> logits = rng.normal(0, 2, 20_000)
        >>> true = rng.random(20_000) < 1 / (1 + np.exp(-logits))
        >>> round(fit_temperature(3 * logits, true), 1)
        3.0
    """
    scores = np.asarray(logits, np.float64)
    answers = np.asarray(right)
    if scores.ndim == 1:  # a claim is a choice between it and its opposite, whose logit is 0
        scores, answers = np.stack([np.zeros_like(scores), scores], 1), answers.astype(np.int64)
    if scores.ndim != 2 or answers.shape != scores.shape[:1] or not len(scores):
        raise SeesayError(
            f"logits of shape {scores.shape} for {answers.shape} answers", allowed="(n, k) or (n,), with n answers"
        )
    if not np.isfinite(scores).all():
        raise SeesayError("logits hold NaN or inf", allowed="numbers")
    scores = scores - np.take_along_axis(scores, answers[:, None], 1)  # (n, k), the right one 0
    low, high = _RANGE
    golden = (np.sqrt(5) - 1) / 2  # the cost has one valley: each step keeps the part that holds its ground
    while high - low > _FINEST:
        left, right_side = high - golden * (high - low), low + golden * (high - low)
        if _cost(scores, left) < _cost(scores, right_side):
            high = right_side
        else:
            low = left
    return float(np.exp((low + high) / 2))


def fit_scaling(logits: ArrayLike, true: ArrayLike) -> tuple[float, float]:
    """Temperature T and offset b that make σ(logit / T + b) as probable as can be (Platt 1999), by Newton's method.

    An offset is needed where claims are true more or less often than those the logits were learned from.

    Args:
        logits: (n,) of single claims.
        true: (n,) whether they are true; some have to be and some not.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> logits = rng.normal(0, 2, 50_000)
        >>> true = rng.random(50_000) < 1 / (1 + np.exp(-(logits + 1)))
        >>> temperature, offset = fit_scaling(3 * logits, true)
        >>> round(temperature, 1), round(offset, 1)
        (3.0, 1.0)
    """
    x = as_array(logits, "logits", "(n,)").astype(np.float64)
    y = as_array(true, "true", "(n,)").astype(np.float64)
    if x.shape != y.shape or not 0 < y.sum() < len(y) or not np.isfinite(x).all():
        raise SeesayError(
            f"{len(x)} logits for {len(y)} claims, of which {int(y.sum())} are true",
            allowed="as many of both, finite, some true and some not",
        )
    size = max(float(np.abs(x).max()), 1e-12)
    design = np.stack([x / size, np.ones_like(x)], 1)  # (n, 2)
    beta = np.zeros(2)
    for _ in range(100):
        p = 0.5 * (1 + np.tanh(0.5 * design @ beta))  # σ, in a form that cannot overflow
        curvature = (design * (p * (1 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, design.T @ (y - p))
        beta += step * min(1.0, 5.0 / float(np.abs(step).max() or 1.0))  # far from the best Newton's step is too long
        if np.abs(step).max() < 1e-9:
            break
    slope = max(beta[0] / size, np.exp(-_RANGE[1]))  # a claim with a higher logit is never less probable
    return float(np.clip(1 / slope, *np.exp(_RANGE))), float(beta[1])


def _cost(scores: FloatArray, log_temperature: float) -> float:
    scaled = scores / np.exp(log_temperature)
    most = np.maximum(scaled.max(axis=1), 0)
    return float((most + np.log(np.exp(scaled - most[:, None]).sum(axis=1))).mean())


def _pairs(probabilities: ArrayLike, outcomes: ArrayLike) -> tuple[FloatArray, FloatArray]:
    said = as_array(probabilities, "probabilities", "(n,)").astype(np.float64)
    true = as_array(outcomes, "outcomes", "(n,)").astype(np.float64)
    if said.shape != true.shape or not len(said):
        raise SeesayError(f"{len(said)} probabilities for {len(true)} outcomes", allowed="as many of both, 1 or more")
    if not ((said >= 0) & (said <= 1)).all():
        raise SeesayError("a probability is not between 0 and 1", allowed="numbers from 0 to 1")
    return said, true
