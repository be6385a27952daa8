"""`--task explanations`: are explanations right? Pointing, hiding and leaving out, with every explainer of a model."""

from collections.abc import Mapping
from typing import Any, ClassVar

from seesay.evaluation.explanations import evaluate_explanations
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.taking_away import N_LEFT_OUT, SHARES
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request


class ExplanationsTask(EvaluationTask):
    """The pointing game of every explainer and of baselines; how far a score falls without what they find salient."""

    name = "explanations"
    columns: ClassVar[Columns] = {
        "": (Column("mean", "pointing"), Column("low", "from"), Column("high", "to")),
        "foreign sentences": (Column("dependence", "correlation", ".3f"),),
        "fall of the score": (
            *(Column(f"hidden {share:.0%}", f"{share:.0%} hidden", "+.3f") for share in SHARES),
            *(Column(f"left out {n}", f"without {n} words" if n > 1 else "without a word", "+.3f") for n in N_LEFT_OUT),
        ),
    }
    lack = "has no explainer"
    options = ("entities",)

    def measure(self, request: Request) -> list[Measured]:
        images = request.measured()
        with request.bar(f"features of {images.name}", "photos") as on_progress:
            found = evaluate_explanations(request.model, request.attach_boxes(images), on_progress=on_progress)
        return [request.part(self.name, images, found.to_report()[self.name], **found.seconds)]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        found = report[self.name]
        rows: dict[str, dict[str, float]] = {name: dict(row) for name, row in found["pointing"].items()}
        for name, correlation in found.get("dependence", {}).get("correlation", {}).items():
            rows.setdefault(name, {})["dependence"] = correlation
        for name, falls in found["hiding"].items():
            rows.setdefault(name, {}).update({f"hidden {float(share):.0%}": fall for share, fall in falls.items()})
        for name, falls in found["leaving_out"].items():
            rows.setdefault(name, {}).update({f"left out {n}": fall for n, fall in falls.items()})
        return list(rows.items())

    def remarks(self, report: Report) -> list[str]:
        found = report[self.name]
        return [
            f"Pointing: {found['n_phrases']:,} boxed phrases of {found['n_photos']:,} photos, explained by "
            f"{report['model']['name']}; 95 % intervals by bootstrap over photos. Hiding: parts of "
            f"{found['n_hidden']:,} photos; leaving out: words of the sentences of {found['n_sentences']:,} photos. "
            "The further the score falls, the better. Correlation: of the maps of right and of foreign sentences; 1 is "
            "a map that does not depend on what is said."
        ]
