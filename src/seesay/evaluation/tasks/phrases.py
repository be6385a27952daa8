"""`--task phrases`: phrases for an annotated region and regions for a phrase (HM-LSTM, Table 4)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from seesay.evaluation.phrases import CANDIDATES, evaluate_phrases
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.tasks.base import Columns, EvaluationTask, Request, round_all
from seesay.evaluation.tasks.retrieval import direction


class PhrasesTask(EvaluationTask):
    """Ranks all annotated phrases for each annotated region, and the other way round."""

    name = "phrases"
    columns: ClassVar[Columns] = {
        "phrases for a region": direction("region_to_phrase"),
        "regions for a phrase": direction("phrase_to_region"),
    }
    lack = "has no vector for a region"
    options = ("entities",)

    def measure(self, request: Request) -> list[Measured]:
        images = request.measured()
        boxed = request.attach_boxes(images).keep(lambda item: bool(item.boxes))
        with request.bar(f"regions of {images.name}", "photos") as on_progress:
            found = evaluate_phrases(request.model, boxed, on_progress=on_progress)
        figures: dict[str, Any] = {way: found.rows[way]["model"] for way in CANDIDATES}
        figures["random"] = {way: found.rows[way]["random"] for way in CANDIDATES}
        figures |= {"n_regions": found.n_regions, "n_images": found.n_images, "n_phrases": found.n_candidates}
        return [request.part(self.name, images, round_all(figures))]

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        name, found = report["model"]["name"], report["phrases"]
        by = ((name, found), ("random", found["random"]))
        return [(f"{who}, {way}", part[way]) for who, part in by for way in CANDIDATES]

    def remarks(self, report: Report) -> list[str]:
        found = report["phrases"]
        n = found["n_phrases"]
        return [
            f"{found['n_regions']:,} boxes of {found['n_images']:,} images. Distinct: {n['distinct']:,} phrases, equal "
            f"ones counted once. All: {n['all']:,} phrases, as often as they were written."
        ]
