"""`--task correspondences`: the region that HM-LSTM finds for each noun phrase, against annotated boxes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, cast

from seesay.evaluation.correspondences import judge_correspondences
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request, round_all
from seesay.images.extraction import features_of
from seesay.models.hmlstm import HMLSTM, MATCHES

PARTS_ONLY = ", parts only"
"""Of rows in which a phrase chooses among the regions other than the whole image."""


class CorrespondencesTask(EvaluationTask):
    """Chooses regions by the cosine, as the paper does, and by heat."""

    name = "correspondences"
    columns: ClassVar[Columns] = {
        "": (
            Column("correct", "IoU ≥ .5"),
            Column("correct_30", "IoU ≥ .3"),
            Column("centred", "centre in box"),
            Column("whole_chosen", "whole chosen"),
            Column("confident", "confident half"),
            Column("random", "random region"),
            Column("whole", "whole image"),
            Column("upper_bound", "upper bound"),
            Column("covered", "nested"),
            Column("covered_shuffled", "nested by chance"),
        )
    }
    lack = "finds no correspondences of phrases and regions"
    options = ("entities",)

    def measure(self, request: Request) -> list[Measured]:
        model, images = cast(HMLSTM, request.model), request.measured()
        boxed = request.attach_boxes(images).keep(lambda item: bool(item.boxes))
        with request.bar(f"features of {images.name}", "photos") as on_progress:
            table, maps = (
                features_of(boxed.images, model.feature_spec, outputs, on_progress=on_progress)
                for outputs in (model.outputs, ("pooled", "map"))
            )
        reports = {
            f"{match}{PARTS_ONLY if parts_only else ''}": asdict(
                judge_correspondences(model, boxed, table, maps if match == "heat" else None, parts_only=parts_only)[0]
            )
            for parts_only in (False, True)
            for match in MATCHES
        }
        figures = {"n_images": len(boxed), "iou": 0.5, "chosen_by": model.config.match, **reports}
        return [request.part(self.name, images, round_all(figures))]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        found = report["correspondences"]
        ways = [f"{match}{kind}" for kind in ("", PARTS_ONLY) for match in MATCHES]
        return [(f"{report['model']['name']}, {way}", found[way]) for way in ways if way in found]

    def remarks(self, report: Report) -> list[str]:
        found = report["correspondences"]
        return [
            f"Percent of {found[found['chosen_by']]['n_phrases']:,} annotated noun phrases of {found['n_images']:,} "
            f"images whose region overlaps an annotated box; no box was learned from. The confident half, random "
            f"regions, the whole image and the upper bound are counted by IoU ≥ {found['iou']:g}. "
            f"{report['model']['name']} chooses by {found['chosen_by']}. Nested: of the noun phrases inside another "
            "one, those whose region lies in the other's, and the same with regions of other phrases around them."
        ]
