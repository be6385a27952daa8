"""`--task explanations`: are explanations right? Pointing, hiding and leaving out, with every explainer of a model."""

from collections.abc import Mapping
from typing import Any, ClassVar

from seesay.evaluation.explanations import evaluate_explanations
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request


class ExplanationsTask(EvaluationTask):
    """The pointing game of every explainer and of baselines; how far a score falls without what they find salient."""

    name = "explanations"
    columns: ClassVar[Columns] = {
        "": (Column("mean", "pointing"), Column("low", "from"), Column("high", "to")),
    }
    lack = "has no explainer"
    options = ("entities",)

    def measure(self, request: Request) -> list[Measured]:
        images = request.measured()
        with request.bar(f"features of {images.name}", "photos") as on_progress:
            found = evaluate_explanations(request.model, request.attach_boxes(images), on_progress=on_progress)
        return [request.part(self.name, images, found.to_report()[self.name], **found.seconds)]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        return list(report["explanations"]["pointing"].items())

    def remarks(self, report: Report) -> list[str]:
        found = report["explanations"]
        falls = [
            f"{what}: {', '.join(f'{name} {max(row.values()):.2f}' for name, row in found[key].items())}."
            for key, what in (("hiding", "Fall of the score when parts are hidden"), ("leaving_out", "… without words"))
        ]
        about = (
            f"{found['n_phrases']:,} phrases of {found['n_photos']:,} photos, explained by {report['model']['name']}"
        )
        return [f"{about}; 95 % intervals by bootstrap over photos.", *falls]
