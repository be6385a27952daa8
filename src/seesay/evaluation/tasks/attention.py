"""`--task attention`: does each step attend to the place of the words that it attends to? (sm-LSTM)"""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from seesay.evaluation.attending import N_WORDS, evaluate_attention
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request
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
        return [request.part(self.name, images, {"variant": model.config.variant, **found.to_dict()})]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        found, keys = report["attention"], ("pointing", "centre", "n_words")
        return [
            (f"{report['model']['name']}, step {step}", dict(zip(keys, figures, strict=True)))
            for step, figures in enumerate(zip(*(found[key] for key in keys), strict=True), 1)
        ]

    def remarks(self, report: Report) -> list[str]:
        change = ", ".join(f"{value:.3f}" for value in report["attention"]["change"])
        return [
            f"The {N_WORDS} most attended words of each step; centre points at the middle of the image. Change of the "
            f"map from step to step, from 0 to 1: {change or 'one step only'}."
        ]
