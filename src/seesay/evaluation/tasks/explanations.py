"""`--task explanations`: do the maps and weights of explainers show what the score rests on?"""

from collections.abc import Mapping
from typing import Any, ClassVar

from seesay.evaluation.explanations import SHARES, evaluate_explanations
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request


class ExplanationsTask(EvaluationTask):
    """Pointing, hiding and leaving out, by every explainer of the weights beside gradients and chance."""

    name = "explanations"
    columns: ClassVar[Columns] = {
        "": (Column("pointing", "pointing"),),
        "fall of the score": (
            *(Column(f"hidden {share:g}", f"{share:.0%} hidden", "+.3f") for share in SHARES),
            Column("left out 1", "one word left out", "+.3f"),
            Column("left out 2", "two words left out", "+.3f"),
        ),
    }
    lack = "has no explainer"
    options = ("entities",)

    def measure(self, request: Request) -> list[Measured]:
        images = request.measured()
        with request.bar(f"explanations of {images.name}", "photos") as on_progress:
            found = evaluate_explanations(request.model, request.attach_boxes(images), on_progress=on_progress)
        return [request.part(self.name, images, found.to_report()[self.name], **found.seconds)]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        found = report[self.name]
        rows: dict[str, dict[str, float]] = {name: {"pointing": row["mean"]} for name, row in found["pointing"].items()}
        for title, key in (("hidden", "hiding"), ("left out", "leaving_out")):
            for name, falls in found[key].items():
                rows.setdefault(name, {}).update({f"{title} {much}": fall for much, fall in falls.items()})
        return list(rows.items())

    def remarks(self, report: Report) -> list[str]:
        found = report[self.name]
        return [
            f"{found['n_phrases']:,} boxed phrases of {found['n_photos']:,} photos are pointed at; parts of "
            f"{found['n_hidden']:,} photos are hidden, and words of the sentences of {found['n_sentences']:,} photos "
            "left out: the further the score falls, the better."
        ]
