"""Retrieval: how well a model finds sentences for images and images for sentences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data.examples import Examples
from seesay.evaluation.protocols import EvaluationSet, Protocol, divide, timed
from seesay.images.arrays import LOWER
from seesay.layers.dropout import without_dropout
from seesay.metrics.retrieval import (
    Ranks,
    RankSummary,
    RecallCurve,
    RetrievalReport,
    ranks,
    recall_curves,
    summarize_ranks,
)
from seesay.models.base import Matcher
from seesay.runtime.protocol import Answering
from seesay.scoring import encode_all, score_all, similar_images
from seesay.system.spread import Spread, spread_here

CURVE_POINTS = 1001
CURVE_RECORDED = 40
"""Points of a shortlist's curve that a report keeps."""


@dataclass(frozen=True)
class Evaluation:
    """What a model reached on a split under a protocol.

    Attributes:
        figures: The figures that are quoted: those of the one fold, or the mean over folds.
        folds: The figures of each fold.
        ranks: 0-based ranks of every query, fold after fold.
        curves: Recall against the part retrieved, `"i2t"` and `"t2i"`; the mean over folds.
        n_images: Images that were ranked, in all folds together.
        n_sentences: Sentences that were ranked, in all folds together.
        seconds: How long reading or computing features, encoding and scoring, and ranking took.
    """

    protocol: Protocol
    seed: int | None
    figures: RetrievalReport
    folds: tuple[RetrievalReport, ...]
    ranks: Ranks
    curves: dict[str, RecallCurve]
    n_images: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        several = {"folds": [_rounded(fold) for fold in self.folds]} if len(self.folds) > 1 else {}
        return {**_rounded(self.figures), **several}


@dataclass(frozen=True)
class ShortlistEvaluation:
    """What a model reached where an image chooses among the sentences of its nearest images (m-RNN, section 10.2).

    Attributes:
        figures: Of sentences for an image; images for a sentence have no shortlist.
        curves: Recall against the part of the shortlist that is retrieved, under `"i2t"`.
        n_candidates: Sentences of a shortlist, on average.
    """

    protocol: Protocol
    seed: int | None
    figures: RankSummary
    curves: dict[str, RecallCurve]
    n_candidates: float
    n_images: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is, with some points of the curve: percent retrieved, recall, matches."""
        curve = self.curves["i2t"]
        places = np.unique(np.geomspace(1, len(curve.retrieved) - 1, CURVE_RECORDED).round().astype(int))
        points = np.stack([curve.retrieved, curve.recall, curve.matches], 1)[places].round(3).tolist()
        figures = {key: round(value, 4) for key, value in cast(dict[str, float], self.figures).items()}
        return {"i2t": figures, "shortlist": {"n_candidates": round(self.n_candidates, 1), "curve": points}}


def _rounded(figures: RetrievalReport) -> dict[str, Any]:
    """Four decimals: finer than any query's weight, and without the tails of binary fractions."""
    directions = {name: cast(dict[str, float], figures[name]) for name in ("i2t", "t2i")}
    rounded = {name: {key: round(value, 4) for key, value in part.items()} for name, part in directions.items()}
    return {**rounded, "sum": round(figures["sum"], 4)}


def evaluate_retrieval(
    model: Matcher,
    measured: EvaluationSet,
    *,
    score: Callable[[Tensor, Any], Tensor] | None = None,
    spread: Spread = spread_here,
) -> Evaluation:
    """Measure how well a model finds sentences for images and images for sentences.

    Args:
        model: Any matcher.
        score: How encoded images and sentences are scored; `model.score` where nothing else is given.
        spread: Where they are scored, a block of images at a time: by default here (`seesay.system.cluster`).
    """
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        whole = measured.read(model)
    folds = (
        (partial(_scores, model, source, score, spread), source.image_of)
        for source in divide(whole, measured.rules.n_folds)
    )
    return rank_folds(folds, measured.rules, measured.seed, len(whole.collection), len(whole.sentences), seconds)


def evaluate_shortlist(
    model: Matcher, measured: EvaluationSet, *, score: Callable[[Tensor, Any], Tensor] | None = None
) -> ShortlistEvaluation:
    """Rank, for each image, the sentences of as many images as the protocol says: its own and those of its nearest.

    Images are near by the vectors of the network. Only these pairs are scored.

    Args:
        score: As in `evaluate_retrieval`.
    """
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        whole = measured.read(model)
    n_images, n_texts = len(whole.collection), len(whole.sentences)
    with timed("scores", seconds), without_dropout(model), torch.inference_mode():
        itself = np.arange(n_images)[:, None]
        near = np.concatenate([itself, similar_images(whole, measured.rules.n_near - 1)], 1)  # (n_images, n_near)
        images, texts = encode_all(model, whole)
        scores = np.full((n_images, n_texts), -np.inf, np.float32)
        starts = np.append(whole.first_of, n_texts)
        for owner in range(n_images):
            rows, own = np.flatnonzero((near == owner).any(1)), np.arange(starts[owner], starts[owner + 1])
            found = (score or model.score)(images[torch.from_numpy(rows)], texts[torch.from_numpy(own)])
            scores[np.ix_(rows, own)] = found.numpy()
            if measured.on_progress:
                measured.on_progress(owner + 1, n_images)
    with timed("ranks", seconds):
        n_candidates = float(np.isfinite(scores).sum(1).mean())
        curve = recall_curves(scores, whole.image_of, n_points=n_texts + 1)["i2t"]
        retrieved = curve.retrieved * n_texts / n_candidates
        kept = retrieved <= 100
        short = RecallCurve(retrieved[kept], curve.recall[kept], curve.matches[kept])
        figures = summarize_ranks(ranks(scores, whole.image_of).i2t)
    return ShortlistEvaluation(
        measured.rules, measured.seed, figures, {"i2t": short}, n_candidates, n_images, n_texts, seconds
    )


def evaluate_graphs(model: Answering, measured: EvaluationSet, how: Mapping[str, str] | None = None) -> Evaluation:
    """The same by graphs, the image network's among them: what people's answers are made of.

    Args:
        model: Weights that graphs answer (`seesay.runtime.matching.Model`).
        how: What `model.score` takes besides images and sentences.
    """
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        # Graphs give what the lower half sees as well, but no store keeps it for them.
        whole = measured.look(model.features) if LOWER in model.outputs else measured.read(model)
    folds = ((partial(_graph_scores, model, source, how or {}), source.image_of)
             for source in divide(whole, measured.rules.n_folds))  # fmt: skip
    return rank_folds(folds, measured.rules, measured.seed, len(whole.collection), len(whole.sentences), seconds)


def _graph_scores(model: Answering, source: Examples, how: Mapping[str, str], batch: int = 256) -> NDArray[Any]:
    table = source.table
    assert table is not None
    places = [range(start, min(start + batch, len(table))) for start in range(0, len(table), batch)]
    images = np.concatenate([model.encode_images(table.arrays(some)) for some in places])
    scores = np.zeros((len(images), len(source.sentences)), np.float32)
    # Sentences of like length go together: a batch is padded to its longest.
    order = sorted(range(len(source.sentences)), key=lambda text: len(source.sentences[text].split()))
    for start in range(0, len(order), batch):
        own = order[start : start + batch]
        scores[:, own] = model.score(images, model.encode_texts([source.sentences[text] for text in own]), **how)
    return scores


def _scores(
    model: Matcher, source: Examples, score: Callable[[Tensor, Any], Tensor] | None, spread: Spread
) -> NDArray[np.floating[Any]]:
    found: NDArray[np.floating[Any]] = score_all(model, source, score=score, spread=spread).numpy()
    return found


def rank_folds(
    folds: Iterable[tuple[Callable[[], NDArray[Any]], NDArray[np.int64]]],
    protocol: Protocol,
    seed: int | None,
    n_images: int,
    n_sentences: int,
    seconds: dict[str, float],
) -> Evaluation:
    """Figures from scores, wherever these come from.

    Args:
        folds: For each fold what computes its scores (n_images, n_texts), and the image of each text.
        protocol: By which they were divided.
        seed: That drew the images.
        n_images: In all folds together.
        n_sentences: In all folds together.
        seconds: What has been spent so far, to which this is added.
    """
    found: list[Ranks] = []
    curves: list[dict[str, RecallCurve]] = []
    for compute_scores, image_of in folds:
        with timed("scores", seconds):
            scores = compute_scores()
        with timed("ranks", seconds):
            found.append(ranks(scores, image_of))
            curves.append(recall_curves(scores, image_of, n_points=CURVE_POINTS))
    reports = tuple(fold_ranks.report() for fold_ranks in found)
    return Evaluation(
        protocol=protocol,
        seed=seed,
        figures=average_reports(reports),
        folds=reports,
        ranks=Ranks(np.concatenate([r.i2t for r in found]), np.concatenate([r.t2i for r in found])),
        curves={name: _average_curves([fold_curves[name] for fold_curves in curves]) for name in ("i2t", "t2i")},
        n_images=n_images,
        n_sentences=n_sentences,
        seconds=seconds,
    )


def average_reports(reports: Sequence[RetrievalReport]) -> RetrievalReport:
    """The mean of every figure over folds, medians among them, as papers average them.

    Example:
        >>> from seesay.metrics.retrieval import retrieval_report
        >>> right, wrong = (retrieval_report(scores, [0, 1]) for scores in ([[1, 0], [0, 1]], [[0, 1], [1, 0]]))
        >>> average_reports([right, wrong])["i2t"]
        {'r1': 50.0, 'r5': 100.0, 'r10': 100.0, 'median': 1.5, 'mean': 1.5}
    """

    def average(parts: list[RankSummary]) -> RankSummary:
        rows = [[part["r1"], part["r5"], part["r10"], part["median"], part["mean"]] for part in parts]
        r1, r5, r10, median, mean = np.mean(rows, axis=0).tolist()
        return {"r1": r1, "r5": r5, "r10": r10, "median": median, "mean": mean}

    return {
        "i2t": average([report["i2t"] for report in reports]),
        "t2i": average([report["t2i"] for report in reports]),
        "sum": float(np.mean([report["sum"] for report in reports])),
    }


def _average_curves(curves: Sequence[RecallCurve]) -> RecallCurve:
    if len(curves) == 1:
        return curves[0]
    retrieved = curves[0].retrieved  # folds differ a little in their number of sentences, and so in their points
    recall = np.mean([np.interp(retrieved, curve.retrieved, curve.recall) for curve in curves], axis=0)
    matches = np.mean([np.interp(retrieved, curve.retrieved, curve.matches) for curve in curves], axis=0)
    return RecallCurve(retrieved, recall, matches)
