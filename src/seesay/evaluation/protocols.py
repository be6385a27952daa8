"""The papers' ways to measure: which images of a split are taken, and how many are ranked against each other.

A thousand images are easier to rank than five thousand, so a figure means little without its protocol. All protocols
take images in the order of the collection, as published splits are used; a seed draws them at random instead, as m-RNN
and HM-LSTM did for COCO.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.images.extraction import features_of
from seesay.metrics.retrieval import Ranks, RankSummary, RecallCurve, RetrievalReport, ranks, recall_curves
from seesay.models.base import Matcher
from seesay.scoring import score_all
from seesay.system.progress import Progress
from seesay.system.spread import Spread, spread_here

CURVE_POINTS = 1001


@dataclass(frozen=True, slots=True)
class Protocol:
    """How many images are ranked at a time, and how often; None takes the split as it is."""

    name: str
    n_images: int | None
    n_folds: int
    about: str


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("full", None, 1, "every image of the split at once"),
        Protocol("1k", 1000, 1, "one thousand images"),
        Protocol("5-fold", 1000, 5, "five times one thousand images, averaged"),
        Protocol("5k", 5000, 1, "five thousand images at once"),
    )
}


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


def _rounded(figures: RetrievalReport) -> dict[str, Any]:
    """Four decimals: finer than any query's weight, and without the tails of binary fractions."""
    directions = {name: cast(dict[str, float], figures[name]) for name in ("i2t", "t2i")}
    rounded = {name: {key: round(value, 4) for key, value in part.items()} for name, part in directions.items()}
    return {**rounded, "sum": round(figures["sum"], 4)}


def find_protocol(name: str) -> Protocol:
    """The protocol of a name; an unknown one is answered with the list.

    `limit-50` is for a quick look at 50 images. No paper measures so, and its name says that it is not the whole split.

    Example:
        >>> find_protocol("5-fold").about
        'five times one thousand images, averaged'
        >>> find_protocol("limit-50").n_images
        50
    """
    if limit := re.fullmatch(r"limit-([1-9][0-9]{0,8})", name):
        return Protocol(name, int(limit[1]), 1, f"{int(limit[1]):,} images, for a quick look")
    if name not in PROTOCOLS:
        raise SeesayError(f"there is no protocol {name!r}", allowed=PROTOCOLS)
    return PROTOCOLS[name]


def choose_folds(n_images: int, protocol: Protocol, seed: int | None = None) -> list[NDArray[np.intp]]:
    """Which images each fold ranks.

    Args:
        n_images: How many the split has.
        protocol: What it asks for.
        seed: Draws the images at random; None takes them in their order.

    Raises:
        SeesayError: The split has fewer images than the protocol needs.

    Example:
        >>> pairs = Protocol("pairs", 2, 2, "twice two images")
        >>> [fold.tolist() for fold in choose_folds(5, pairs)]
        [[0, 1], [2, 3]]
    """
    size = n_images if protocol.n_images is None else protocol.n_images
    if n_images < size * protocol.n_folds:
        possible = [p.name for p in PROTOCOLS.values() if (p.n_images or 0) * p.n_folds <= n_images]
        raise SeesayError(
            f"protocol {protocol.name} needs {size * protocol.n_folds:,} images, there are {n_images:,}",
            allowed=f"with so many images: {', '.join(possible)}",
            hint="--protocol full",
        )
    order = np.arange(n_images) if seed is None else np.random.default_rng(seed).permutation(n_images)
    return [np.sort(order[fold * size : (fold + 1) * size]) for fold in range(protocol.n_folds)]


def read_measured(
    model: Matcher,
    collection: Collection,
    protocol: Protocol,
    *,
    seed: int | None = None,
    store: Path | None = None,
    on_progress: Progress | None = None,
) -> Examples:
    """The images of all folds together with their features, for figures that do not depend on how many there are."""
    _require_pictures(collection)
    measured = take_measured(collection, protocol, seed)
    table = features_of(measured.images, model.feature_spec, model.outputs, root=store, on_progress=on_progress)
    return Examples.of(measured, table)


def evaluate_retrieval(
    model: Matcher,
    collection: Collection,
    protocol: str = "full",
    *,
    seed: int | None = None,
    score: Callable[[Tensor, Any], Tensor] | None = None,
    spread: Spread = spread_here,
    store: Path | None = None,
    on_progress: Progress | None = None,
) -> Evaluation:
    """Measure how well a model finds sentences for images and images for sentences.

    Args:
        model: Any matcher; its features are taken from the store and computed where the store does not hold them.
        collection: The images to measure on, one split of a collection.
        protocol: One of `PROTOCOLS`.
        seed: Draws the images of a protocol at random; None takes them in their order.
        score: How encoded pictures and sentences are scored; `model.score` where nothing else is given.
        spread: Where they are scored, a block of pictures at a time: by default here (`seesay.system.cluster`).
        store: The folder of the feature store, where it is not the user's own.
        on_progress: Called with the pictures that have features, and all.

    Raises:
        SeesayError: There is no such protocol, the split is too small for it, or a picture is missing or broken.
    """
    wanted = find_protocol(protocol)
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        whole = read_measured(model, collection, wanted, seed=seed, store=store, on_progress=on_progress)
    folds = (
        (partial(_scores, model, source, score, spread), source.image_of) for source in divide(whole, wanted.n_folds)
    )
    return rank_folds(folds, wanted, seed, len(whole.collection), len(whole.sentences), seconds)


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


def _require_pictures(collection: Collection) -> None:
    if not collection.items:
        raise SeesayError(f"{collection.name} has no images to measure on")
    n_missing = len(collection) - len(collection.images)
    if n_missing:
        raise SeesayError(
            f"{n_missing:,} of {len(collection):,} pictures of {collection.name} are missing",
            allowed="figures are of a whole split or they cannot be compared",
            hint=f"--images with the folder that holds them, or seesay data check {collection.root}",
        )


def take_measured(collection: Collection, protocol: Protocol, seed: int | None = None) -> Collection:
    """The images that a protocol measures, all folds together."""
    return _take(collection, np.concatenate(choose_folds(len(collection), protocol, seed)))


def _take(collection: Collection, places: NDArray[np.intp]) -> Collection:
    return replace(collection, items=tuple(collection.items[place] for place in places))


def divide(whole: Examples, n_folds: int) -> Iterator[Examples]:
    """The folds, which stand one after the other and have equally many images."""
    assert whole.table is not None
    size = len(whole.collection) // n_folds
    for start in range(0, size * n_folds, size):
        fold = _take(whole.collection, np.arange(start, start + size))
        table = whole.table if n_folds == 1 else whole.table.part(start, start + size)
        yield Examples.of(fold, table)


@contextmanager
def timed(what: str, seconds: dict[str, float]) -> Iterator[None]:
    """Add to the seconds that a part has taken."""
    start = time.perf_counter()
    yield
    seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - start
