"""Calibration: of what is predicted with a probability of 0.9, nine in ten should be observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, as_array

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

_RANGE = (np.log(0.01), np.log(100.0))


class ReliabilityBin(TypedDict):
    """What was predicted and what was observed, of the probabilities in one interval."""

    predicted: float
    observed: float
    n: int


def reliability(probabilities: ArrayLike, outcomes: ArrayLike, n_bins: int = 10) -> list[ReliabilityBin]:
    """Mean probability and share that came true, over equally wide intervals; empty ones are left out.

    Args:
        probabilities: (n,) what was predicted.
        outcomes: (n,) whether it was observed.

    Example:
        >>> reliability([0.05, 0.95, 0.97], [False, True, False], n_bins=2)
        [{'predicted': 0.05, 'observed': 0.0, 'n': 1}, {'predicted': 0.96, 'observed': 0.5, 'n': 2}]
    """
    predicted, observed = _pairs(probabilities, outcomes)
    if n_bins < 1:
        raise SeesayError(f"{n_bins} intervals", allowed="1 or more")
    places = np.minimum((predicted * n_bins).astype(np.int64), n_bins - 1)
    return [
        {"predicted": float(predicted[own].mean()), "observed": float(observed[own].mean()), "n": int(own.sum())}
        for place in range(n_bins)
        if (own := places == place).any()
    ]


def expected_calibration_error(probabilities: ArrayLike, outcomes: ArrayLike, n_bins: int = 10) -> float:
    """Mean distance of predicted and observed over the intervals of `reliability` (Guo et al. 2017).

    Example:
        >>> round(expected_calibration_error([0.8, 0.8, 0.8, 0.8], [True, True, True, False]), 3)
        0.05
    """
    bins = reliability(probabilities, outcomes, n_bins)
    n = sum(row["n"] for row in bins)
    return float(sum(row["n"] * abs(row["predicted"] - row["observed"]) for row in bins) / n)


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
    from scipy.optimize import minimize_scalar

    scores = scores - np.take_along_axis(scores, answers[:, None], 1)  # (n, k), the right one 0
    best = minimize_scalar(lambda log: _cost(scores, log), bounds=_RANGE, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(best.x))


def fit_scaling(logits: ArrayLike, true: ArrayLike) -> tuple[float, float]:
    """Temperature T and offset b that make σ(logit / T + b) as probable as can be (Platt 1999).

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
    found, offset = fit_logistic(np.stack([x, np.ones_like(x)], 1), y)
    slope = max(found, np.exp(-_RANGE[1]))  # a claim with a higher logit is never less probable
    return float(np.clip(1 / slope, *np.exp(_RANGE))), float(offset)


def fit_logistic(design: FloatArray, y: FloatArray, ceiling: float | FloatArray = 1.0) -> FloatArray:
    """Coefficients β under which ceiling · σ(design · β) makes what was observed most probable, by Fisher scoring.

    Args:
        design: (n, d), one column of which is all ones.
        y: (n,) 1 where it was observed and 0 where not, or the share that observed it; its mean lies below the ceiling.
        ceiling: The largest probability, one or (n,); 1 is logistic regression.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> design = np.stack([rng.normal(size=50_000), np.ones(50_000)], 1)
        >>> y = (rng.random(50_000) < 0.8 * sigmoid(design @ [2.0, -1.0])).astype(float)
        >>> fit_logistic(design, y, ceiling=0.8).round(1).tolist()
        [2.0, -1.0]
    """
    scale = np.maximum(np.abs(design).max(0), 1e-12)
    scaled = design / scale  # so that no step is badly scaled
    share = float(y.mean())
    constant = (scaled == 1).all(0).astype(np.float64)
    beta = constant * np.log(share / (float(np.mean(ceiling)) - share)) / max(constant.sum(), 1)
    for _ in range(100):
        rise = sigmoid(scaled @ beta)
        p = np.clip(ceiling * rise, 1e-12, 1 - 1e-12)
        slope = ceiling * rise * (1 - rise)  # dp/dz
        doubt = p * (1 - p)
        curvature = (scaled * (slope * slope / doubt)[:, None]).T @ scaled
        # The least norm among the solutions: where two columns say the same, they are many.
        step = np.linalg.lstsq(curvature, scaled.T @ ((y - p) * slope / doubt), rcond=1e-10)[0]
        step *= min(1.0, 10.0 / float(np.abs(step).max() or 1.0))  # far from the best the step is too long
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    found: FloatArray = beta / scale
    return found


def log_likelihood(p: FloatArray, y: FloatArray) -> float:
    """Of what was observed, under predicted probabilities."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return float((y * np.log(p) + (1 - y) * np.log(1 - p)).sum())


def sigmoid(x: FloatArray) -> FloatArray:
    """σ, in a form that cannot overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def _cost(scores: FloatArray, log_temperature: float) -> float:
    scaled = scores / np.exp(log_temperature)
    most = np.maximum(scaled.max(axis=1), 0)
    return float((most + np.log(np.exp(scaled - most[:, None]).sum(axis=1))).mean())


def _pairs(probabilities: ArrayLike, outcomes: ArrayLike) -> tuple[FloatArray, FloatArray]:
    predicted = as_array(probabilities, "probabilities", "(n,)").astype(np.float64)
    observed = as_array(outcomes, "outcomes", "(n,)").astype(np.float64)
    if predicted.shape != observed.shape or not len(predicted):
        raise SeesayError(
            f"{len(predicted)} probabilities for {len(observed)} outcomes", allowed="as many of both, 1 or more"
        )
    if not ((predicted >= 0) & (predicted <= 1)).all():
        raise SeesayError("a probability is not between 0 and 1", allowed="numbers from 0 to 1")
    return predicted, observed
