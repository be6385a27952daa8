"""`--task attention`: does each step attend to the region of its most attended words? (sm-LSTM)"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, cast

from seesay.evaluation.attending import N_WORDS, evaluate_attention, measure_selectivity
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request, round_all
from seesay.models.smlstm import SMLSTM


class AttentionTask(EvaluationTask):
    """The pointing game of attended regions for the most attended words, step by step."""

    name = "attention"
    columns: ClassVar[Columns] = {
        "": (
            Column("pointing", "pointing"),
            Column("centre", "centre"),
            Column("n_words", "words with a box", ",d"),
        )
    }
    lack = "attends to no regions"
    options = ("entities",)

    def measure(self, request: Request) -> list[Measured]:
        images = request.measured()
        model = cast(SMLSTM, request.model)
        with request.bar(f"attention on {images.name}", "photos") as on_progress:
            found = evaluate_attention(model, request.attach_boxes(images), on_progress=on_progress)
        selects = round_all(asdict(measure_selectivity(model, images)))
        return [request.part(self.name, images, {"variant": model.config.variant, **found.to_dict(), **selects})]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        found, keys = report["attention"], ("pointing", "centre", "n_words")
        return [
            (f"{report['model']['name']}, step {step}", dict(zip(keys, figures, strict=True)))
            for step, figures in enumerate(zip(*(found[key] for key in keys), strict=True), 1)
        ]

    def remarks(self, report: Report) -> list[str]:
        found = report["attention"]
        change = ", ".join(f"{value:.3f}" for value in found["change"])
        remarks = [
            f"The {N_WORDS} most attended words of each step; centre points at the middle of the image. Change of the "
            f"map from step to step, from 0 to 1: {change or 'one step only'}."
        ]
        if "entropy" in found:
            shares = "; ".join(
                f"{name} {', '.join('–' if value is None else f'{value:.3f}' for value in row)}"
                for name, row in found["entropy"].items()
            )
            sums = ", ".join(f"{value:.1f} by {name}" for name, value in found["sums"].items())
            remarks.append(f"Entropy of attention, 1 being equal weights: {shares}.")
            remarks.append(f"Sum among the first {found['n_ranked']} images: {sums}.")
        return remarks
