"""`--task grounding`: the place of a phrase in the image."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from seesay.engines import ENGINES
from seesay.evaluation.grounding import evaluate_grounding
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request


class GroundingTask(EvaluationTask):
    """The pointing game and the box of a phrase, on annotated phrases."""

    name = "grounding"
    columns: ClassVar[Columns] = {"": (Column("pointing", "pointing"), Column("iou50", "IoU ≥ 0.5"))}
    lack = "finds no regions"
    options = ("entities",)
    engines = ENGINES

    def measure(self, request: Request) -> list[Measured]:
        boxed = request.attach_boxes(request.collection)
        with request.bar(f"places in {request.collection.name}", "photos") as on_progress:
            measured = replace(request.evaluation_set(on_progress), collection=boxed)
            return [evaluate_grounding(request.answers, measured)]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        found = report["grounding"]
        best = (f"best of {found['proposals']}", {"iou50": found["upper_bound"]})
        return [(report["model"]["name"], found), *found["beside"].items(), best]

    def remarks(self, report: Report) -> list[str]:
        found = report["grounding"]
        return [
            f"{found['n_phrases']:,} boxed phrases of {found['n_images']:,} images, each read as a {found['reading']}; "
            f"{_learned(found.get('n_learned', 0), found['proposals'])}, whose best is the upper bound; "
            "centre points at the middle and draws the whole image."
        ]


def _learned(n_photos: int, proposals: str) -> str:
    if not n_photos:
        return f"no box was learned from. Boxes are chosen among {proposals}"
    chosen = f"the row without boxes learned from none: its boxes are chosen among {proposals}"
    return f"points and boxes were learned from those of {n_photos:,} photos; {chosen}"
