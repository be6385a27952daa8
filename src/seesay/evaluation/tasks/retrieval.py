"""`--task retrieval`: sentences for an image and images for a sentence."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from seesay.engines import ENGINES, open_model
from seesay.errors import SeesayError
from seesay.evaluation.plots import plot_ranks, plot_recall
from seesay.evaluation.protocols import find_protocol
from seesay.evaluation.report import Measured, Report
from seesay.evaluation.retrieval import (
    Evaluation,
    ShortlistEvaluation,
    evaluate_graphs,
    evaluate_retrieval,
    evaluate_shortlist,
)
from seesay.evaluation.tasks.base import Column, Columns, EvaluationTask, Request, abilities
from seesay.models.base import NORMALISATIONS
from seesay.system.cluster import spreading


def direction(name: str) -> tuple[Column, ...]:
    """The columns of one direction of retrieval."""
    recalls = (Column(f"{name}.r{k}", f"R@{k}") for k in (1, 5, 10))
    return (*recalls, Column(f"{name}.median", "med", "g"))


class RetrievalTask(EvaluationTask):
    """Ranks all images and all sentences of a split."""

    name = "retrieval"
    columns: ClassVar[Columns] = {
        "sentences for an image": direction("i2t"),
        "images for a sentence": direction("t2i"),
        "": (Column("sum", "Sum"),),
    }
    lack = "cannot compare images with sentences"
    by_default = True
    options = ("normalise", "softmax")
    engines = ENGINES

    def measure(self, request: Request) -> list[Measured]:
        name = request.collection.name
        if request.engine == "runtime":
            how = {"normalise": _options(request)["normalise"]} if _is_likelihood(request) else {}
            with request.bar(f"features of {name}", "photos") as on_progress:
                graphs = open_model(request.weights.folder)
                return [evaluate_graphs(graphs, request.evaluation_set(on_progress), how)]
        model: Any = request.model  # the likelihoods of a captioner can be normalised
        if find_protocol(request.protocol).n_near:
            own = partial(model.score, **_options(request)) if _is_likelihood(request) else None
            with request.bar(f"shortlists of {name}", "photos") as on_progress:
                return [evaluate_shortlist(model, request.evaluation_set(on_progress), score=own)]
        if not _is_likelihood(request):
            with spreading(request.ray) as spread, request.bar(f"features of {name}", "photos") as on_progress:
                return [evaluate_retrieval(model, request.evaluation_set(on_progress), spread=spread)]
        score = partial(model.score, **_options(request))
        if request.ray:  # whose workers have no bar to show
            with spreading(request.ray) as spread:
                return [evaluate_retrieval(model, request.evaluation_set(), score=score, spread=spread)]
        with request.bar(f"likelihoods of {name}", "words") as on_progress:
            return [evaluate_retrieval(model, request.evaluation_set(), score=partial(score, on_progress=on_progress))]

    def describe(self, request: Request) -> dict[str, Any]:
        engine = {"engine": request.engine} if request.engine != "torch" else {}
        return engine | (_options(request) if _is_likelihood(request) else {})

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        return [(report["model"]["name"], report)]

    def remarks(self, report: Report) -> list[str]:
        name, protocol = report["model"]["name"], report["protocol"]
        remarks = []
        if protocol["n_folds"] > 1:
            remarks.append(f"{name}: the mean over {protocol['n_folds']} folds.")
        if normalise := protocol.get("normalise"):
            remarks.append(f"{name}: likelihoods are {_NORMALISED[normalise]}.")
        if protocol.get("softmax") == "logits":
            remarks.append(f"{name}: by logits, without the sum over the vocabulary: an approximation.")
        if shortlist := report.get("shortlist"):
            return [
                *remarks,
                f"{name}: each image chooses among the sentences of its nearest images by the network's vectors, its "
                f"own among them: {shortlist['n_candidates']:.0f} on average.",
            ]
        means = f"{report['i2t']['mean']:.1f} for sentences and {report['t2i']['mean']:.1f} for images"
        return [*remarks, f"Mean ranks of {name}: {means}."]

    def write_files(self, evaluations: Sequence[Measured], title: str, folder: Path) -> None:
        for evaluation in evaluations:
            if isinstance(evaluation, Evaluation):
                plot_recall(evaluation, title, folder / "recall.png")
                plot_ranks(evaluation, title, folder / "ranks.png")
            elif isinstance(evaluation, ShortlistEvaluation):
                plot_recall(evaluation, f"{title}, {evaluation.protocol.about}", folder / "recall.png")


def _is_likelihood(request: Request) -> bool:
    """Whether scores are likelihoods of sentences, as those of a captioner are."""
    return "captions" in abilities(request.model)


def _options(request: Request) -> dict[str, str]:
    """How a captioner scores."""
    how = {"normalise": request.normalise or NORMALISATIONS[0]}
    if softmaxes := request.model.softmaxes:
        return {**how, "softmax": request.softmax or softmaxes[0]}
    if request.softmax:
        raise SeesayError(f"--softmax is for m-RNN; {request.weights.name} is {request.model.family}")
    return how


_NORMALISED = {
    "marginal": "divided by the sentence's mean likelihood over training images (m-RNN Eq. 7)",
    "mean-image": "divided by the sentence's likelihood under the mean training image",
    "none": "not normalised",
}
