"""`--task trials`: which of two sentences is about a photo, where they differ in one word."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.data.trials import GROUPS, Trial, draw_trials
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request, round_all
from seesay.images.extraction import features_of
from seesay.layers.dropout import without_dropout
from seesay.models.base import Matcher

AT_ONCE = 25
"""Trials that are scored together, each photo against the sentences of all of them."""


class TrialsTask(EvaluationTask):
    """Chooses between a caption and the same one with another colour, number, thing or action."""

    name = "trials"
    columns: ClassVar[Columns] = {"right of two": (*(Column(kind, kind) for kind in GROUPS), Column("all", "all"))}
    needs_model = False  # every model that scores can be asked, and says so itself where it cannot

    def measure(self, request: Request) -> list[Measured]:
        images = request.measured().with_images()
        trials = draw_trials(images, seed=request.seed or 0)
        right = choose_right(request.model, images, trials)
        figures: dict[str, Any] = {
            kind: 100 * float(right[own].mean())
            for kind in GROUPS
            if (own := [place for place, trial in enumerate(trials) if trial.kind == kind])
        }
        figures["all"] = 100 * float(right.mean()) if trials else 0.0
        figures["n"] = {kind: sum(trial.kind == kind for trial in trials) for kind in GROUPS}
        return [request.part(self.name, images, round_all(figures))]

    def remarks(self, report: Report) -> list[str]:
        counts = report["trials"]["n"]
        said = ", ".join(f"{n} by {kind}" for kind, n in counts.items())
        return [f"In percent; {said}. A coin has 50, and a figure of 100 trials is uncertain by up to 10."]


@torch.inference_mode()
def choose_right(model: Matcher, images: Collection, trials: Sequence[Trial]) -> NDArray[np.float64]:
    """For each trial 1 where the model prefers the right sentence, 0 where the wrong one, a half at a tie."""
    files = [images.items[trial.item].image for trial in trials]
    table = features_of([file for file in files if file is not None], model.feature_spec, model.outputs)
    right: list[float] = []
    with without_dropout(model):
        for start in range(0, len(trials), AT_ONCE):
            some = trials[start : start + AT_ONCE]
            seen = model.encode_images(table.rows(range(start, start + len(some))))
            texts = model.encode_texts([text for trial in some for text in (trial.right, trial.wrong)])
            scores = model.score(seen, texts)  # (n, 2n)
            for row in range(len(some)):
                first, second = scores[row, 2 * row].item(), scores[row, 2 * row + 1].item()
                right.append(0.5 if first == second else float(first > second))
    return np.array(right)
