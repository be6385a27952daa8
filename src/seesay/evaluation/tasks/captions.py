"""`--task captions`: captions against those that people wrote, plain and reranked."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from seesay.captioning.matching import judge_of
from seesay.captioning.settings import Sampling, Settings
from seesay.engines import ENGINES
from seesay.evaluation.captions import CaptionEvaluation, evaluate_captions, training_sentences
from seesay.evaluation.replication.papers import rows as published_rows
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.reranking import evaluate_reranking, given_settings
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request
from seesay.system.cluster import spreading
from seesay.system.files import replace_atomically


class CaptionsTask(EvaluationTask):
    """Writes a caption for every image, and with references also reranks several."""

    name = "captions"
    columns: ClassVar[Columns] = {
        "": (
            Column("perplexity", "PPL", ".2f"),
            *(Column(f"bleu{n}", f"B-{n}", ".3f") for n in (1, 2, 3, 4)),
            Column("cider", "CIDEr", ".3f"),
            Column("rouge_l", "ROUGE-L", ".3f"),
            Column("meteor", "METEOR", ".3f"),
        ),
    }
    lack = "matches images and sentences and writes no captions"
    by_default = True
    options = ("beam", "sample", "references")
    engines = ENGINES

    def measure(self, request: Request) -> list[Measured]:
        model = request.answers
        # Greedy is what papers call so: the likeliest word until the end, without rules of length or repetition.
        sampling = None if request.sample is None else Sampling(seed=request.sample)
        is_plain = request.beam == 1 or sampling is not None
        settings = Settings(beam=1) if is_plain else Settings.of(model, beam=request.beam, candidates=request.beam)
        judge = None if is_plain else judge_of(model)
        training = training_sentences(model.weights) if model.weights else None
        with request.bar(f"captions of {request.collection.name}", "photos") as on_progress:
            found: list[Measured] = [
                evaluate_captions(
                    model,
                    request.evaluation_set(on_progress),
                    settings=settings,
                    sampling=sampling,
                    judge=judge,
                    training=training,
                )
            ]
        if request.references is not None:
            title = f"hypotheses for {request.collection.name}"
            with spreading(request.ray) as spread, request.bar(title, "photos") as on_progress:
                found.append(
                    evaluate_reranking(
                        model, request.evaluation_set(on_progress), request.references, settings=settings,
                        dev=request.dev, k_m=given_settings(settings, request.k, request.m), spread=spread,
                    )
                )  # fmt: skip
        return found

    def describe(self, request: Request) -> dict[str, Any]:
        given = {"beam": request.beam, "sample": request.sample}
        return {name: value for name, value in given.items() if value}

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        name, plain = report["model"]["name"], report["captions"]
        rows = [(f"{name}, {plain['decoding']}" if "decoding" in plain else name, plain)]
        return rows + [(f"… {row['name']}", row) for row in report.get("reranking", {}).get("rows", ())]

    def remarks(self, report: Report) -> list[str]:
        name, captions = report["model"]["name"], report["captions"]
        remarks = []
        if (novel := captions.get("novel")) is not None:
            printed = published_rows("novelty", report["data"]["name"])
            others = [f"{row.paper} prints {row.printed['novel']} %" for row in printed]
            share = f"{100 * novel:.0f} % of {name}'s captions are not among its training sentences"
            remarks.append("; ".join([share, *others]) + ".")
        if reranking := report.get("reranking"):
            chosen = [
                f"{row['name'].removeprefix('reranked ')} the {row['m']} best captions of {row['k']} images"
                for row in reranking["rows"]
                if "k" in row
            ]
            how = f"chosen on {reranking['chosen_on']}" if reranking["chosen_on"] else "given"
            remarks.append(
                f"Reranking orders {reranking['n_hypotheses']} hypotheses by the captions of the nearest of "
                f"{reranking['n_references']:,} images of {reranking['references']}: {' and '.join(chosen)}, {how}. "
                "The oracle orders them by the image's own captions."
            )
        return remarks

    def write_files(self, evaluations: Sequence[Measured], title: str, folder: Path) -> None:
        for evaluation in evaluations:
            if isinstance(evaluation, CaptionEvaluation):
                rows = [{"image": name, "caption": text} for name, text in evaluation.captions.items()]
                with replace_atomically(folder / "captions.json") as temporary:
                    temporary.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
