"""Calibration of an identifier: do things of probability p happen in p of the cases?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.data.examples import Examples
from seesay.engines import TorchModel
from seesay.evaluation.plots import drawing
from seesay.metrics.calibration import ReliabilityBin, expected_calibration_error, reliability
from seesay.metrics.identification import Trials, draw_trials
from seesay.models.identifier import Identifier
from seesay.runtime.probabilities import Calibration, choice_probability, match_probability
from seesay.runtime.protocol import Answering
from seesay.scoring import score_trials

AS_THEY_ARE = 1.0, 0.0, 1.0
"""The calibration of logits that are not calibrated."""


@dataclass(frozen=True)
class CalibrationReport:
    """How far probabilities can be taken at their word, as they are and as they were before their temperature.

    Attributes:
        before, after: Expected calibration errors.
        bins_before, bins_after: Predicted and observed shares.
    """

    before: float
    after: float
    bins_before: list[ReliabilityBin]
    bins_after: list[ReliabilityBin]

    @classmethod
    def of(cls, before: ArrayLike, after: ArrayLike, outcomes: ArrayLike) -> "CalibrationReport":
        """From the probabilities before and after, and whether what they predict is true."""
        first, second = (np.asarray(some, np.float64).ravel() for some in (before, after))
        true = np.asarray(outcomes).ravel()
        return cls(
            expected_calibration_error(first, true),
            expected_calibration_error(second, true),
            reliability(first, true),
            reliability(second, true),
        )

    def to_dict(self) -> dict[str, Any]:
        """Rounded, to be kept."""
        return {
            "before": round(self.before, 4),
            "after": round(self.after, 4),
            **{
                name: [
                    {"predicted": round(b["predicted"], 4), "observed": round(b["observed"], 4), "n": b["n"]}
                    for b in bins
                ]
                for name, bins in (("bins_before", self.bins_before), ("bins_after", self.bins_after))
            },
        }


def trial_logits(model: Answering, source: Examples, trials: Trials) -> NDArray[np.float32]:
    """The logits of all candidates of trials: (n, k)."""
    assert source.table is not None
    if isinstance(model, TorchModel):
        return score_trials(cast(Identifier, model.model), source, trials).numpy()
    images = model.encode_images(source.table.arrays(range(len(source.table))))
    used, place_of = np.unique(trials.texts, return_inverse=True)
    texts = model.encode_texts([source.sentences[text] for text in used])
    rows = zip(trials.images, place_of.tolist(), strict=True)
    return np.stack([model.score(images[candidates], texts[place : place + 1])[:, 0] for candidates, place in rows])


def calibration_of(model: Answering, source: Examples, *, n_candidates: int = 10) -> dict[str, CalibrationReport]:
    """How well both probabilities of an identifier are calibrated on a split.

    `match` says of single pairs, of which half match, that they do; `choice` says of the best of several candidates
    that it is the right one.
    """
    trials = draw_trials(source.image_of, n_candidates=min(n_candidates, len(source.collection)), seed=2)
    logits = trial_logits(model, source, trials)
    pairs = logits[:, :2]
    best = logits.argmax(1)[:, None]  # (n, 1)

    def choice(calibration: Calibration) -> NDArray[np.float64]:
        return np.take_along_axis(choice_probability(calibration, logits), best, 1)

    return {
        "match": CalibrationReport.of(
            match_probability(AS_THEY_ARE, pairs),
            match_probability(model.calibration, pairs),
            np.broadcast_to([True, False], pairs.shape),
        ),
        "choice": CalibrationReport.of(choice(AS_THEY_ARE), choice(model.calibration), best == 0),
    }


def plot_reliability(reports: dict[str, CalibrationReport], title: str, path: Path) -> None:
    """Save what was predicted against what was observed, before and after the temperature, as a PNG.

    Args:
        reports: As `calibration_of` gives them.
        title: Which model and which data.
        path: Where to; an existing file is replaced in one step.
    """
    with drawing(title, path) as axes:
        _draw_reliability(axes, reports)


def _draw_reliability(axes: Any, reports: dict[str, CalibrationReport]) -> None:
    axes.plot([0, 100], [0, 100], color="0.6", linewidth=1.2, linestyle=(0, (4, 3)), label="calibrated")
    for (name, report), colour in zip(reports.items(), ("#1f6f9f", "#d9722e"), strict=False):
        for bins, error, when, style in (
            (report.bins_before, report.before, "before", ":"),
            (report.bins_after, report.after, "after", "-"),
        ):
            predicted, observed = ([100 * row[key] for row in bins] for key in ("predicted", "observed"))
            label = f"{name}, {when}: error {100 * error:.1f} %"
            axes.plot(
                predicted, observed, color=colour, linestyle=style, linewidth=2, marker="o", markersize=4, label=label
            )
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("observed share")
    axes.grid(color="0.9", linewidth=0.8)
    axes.legend(loc="lower right", frameon=False)
