"""`--task identification`: which of several images a sentence was written for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from seesay.engines import ENGINES
from seesay.evaluation.identification import (
    GAMES,
    IdentificationEvaluation,
    evaluate_identification,
)
from seesay.evaluation.reliability import plot_reliability
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request


class IdentificationTask(EvaluationTask):
    """Two, ten and a hundred images at random, and two and ten that look alike."""

    name = "identification"
    columns: ClassVar[Columns] = {"": tuple(Column(f"accuracy.{game.name}", game.name) for game in GAMES)}
    lack = "cannot tell images apart by a sentence"
    options = ("beam",)
    engines = ENGINES

    def measure(self, request: Request) -> list[Measured]:
        with request.bar(f"features of {request.collection.name}", "photos") as on_progress:
            return [evaluate_identification(request.answers, request.evaluation_set(on_progress), beam=request.beam)]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        name, found = report["model"]["name"], report["identification"]
        beside = {"plain": f"{name}, plain means of GloVe", "person": "captions by a person (upper bound)"}
        return [(name, found), *((title, {"accuracy": found[key]}) for key, title in beside.items() if key in found)]

    def remarks(self, report: Report) -> list[str]:
        name, found = report["model"]["name"], report["identification"]
        remarks = [
            "Percent of the trials in which the right image scores highest. Look-alikes are the nearest neighbours of "
            "the right image by the network's own vectors."
        ]
        if found.get("by") == "captions":
            vectors = found.get("vectors", "GloVe")
            remarks.append(f"{name} answers by the mean word vectors ({vectors}) of its captions and of the sentence.")
        remarks += [
            f"Calibration error of the {kind} probability: {100 * row['before']:.1f} % before temperature scaling, "
            f"{100 * row['after']:.1f} % after."
            for kind, row in found.get("calibration", {}).items()
        ]
        return remarks

    def write_files(self, evaluations: Sequence[Measured], title: str, folder: Path) -> None:
        for evaluation in evaluations:
            if isinstance(evaluation, IdentificationEvaluation) and evaluation.calibration:
                plot_reliability(evaluation.calibration, title, folder / "reliability.png")
