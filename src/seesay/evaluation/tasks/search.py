"""`--task search`: the ranking that `seesay search` does, through a library."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from seesay.catalogue.weights import PACKAGED
from seesay.evaluation.replication.papers import data_name
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.search import TOP, evaluate_search
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request

ENSEMBLE = "ensemble"


class SearchTask(EvaluationTask):
    """Searches a library of the split's photos with every sentence, and shows recorded figures of all pairs beside it.

    The weights are those of the first stage; later stages are those that are installed for them.
    """

    name = "search"
    columns: ClassVar[Columns] = {
        "photos for a sentence": (
            *(Column(f"r{k}", f"R@{k}") for k in (1, 5, 10)),
            Column("median", "med", "g"),
            Column("milliseconds", "ms"),
        )
    }
    needs_model = False

    def measure(self, request: Request) -> list[Measured]:
        name = request.collection.name
        with (
            request.bar(f"photos of {name}", "photos") as on_indexed,
            request.bar(f"queries of {name}", "queries") as on_query,
        ):
            found = evaluate_search(
                request.collection, request.protocol, model=request.weights.folder, seed=request.seed,
                on_indexed=on_indexed, on_query=on_query,
            )  # fmt: skip
        part = found.to_report()[self.name] | {"beside": _recorded(request)}
        return [request.part(self.name, request.measured(), part, **found.seconds)]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        found = report["search"]
        beside = [(f"{name}, all pairs", row) for name, row in found["beside"].items()]
        return [(f"search: {' + '.join(found['stages'])}", found), *beside]

    def remarks(self, report: Report) -> list[str]:
        found = report["search"]
        remarks = [
            f"Every sentence is a query, and the best {TOP} photos are looked at. Time is the median of a query."
        ]
        if found["beside"]:
            remarks.append("All pairs: recorded with the weights, without tags, later stages or copies.")
        if ENSEMBLE not in found["beside"]:
            remarks.append("The ensemble has no recorded figure for these images: seesay evaluate shipped measures it.")
        return remarks


def _recorded(request: Request) -> dict[str, dict[str, float]]:
    """What the first stage and the ensemble that ships reach by comparing all pairs, where that has been recorded."""
    key = f"{data_name(request.collection) or request.collection.name}/{request.split}"
    if request.protocol != "full":
        key += f"/{request.protocol}"
    recorded = {request.weights.name: request.weights.figures, ENSEMBLE: _ensemble_figures()}
    return {name: figures[key]["t2i"] for name, figures in recorded.items() if "t2i" in figures.get(key, {})}


def _ensemble_figures() -> dict[str, Any]:
    path = PACKAGED / ENSEMBLE / "config.json"
    figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")).get("figures", {}) if path.is_file() else {}
    return figures
