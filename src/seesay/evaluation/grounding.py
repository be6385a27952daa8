"""Grounding of phrases, measured on the boxes of Flickr30k Entities.

Two games over the same phrases: the point where the model looks has to lie in one of the phrase's boxes (the pointing
game), and the box that it draws has to overlap the phrase's box, or the box around all of them, by half (IoU ≥ 0.5, the
protocol of Flickr30k Entities). Beside the model stand answers that look at no word: the centre of the image, all of
it, and a region chosen blindly among the proposals. No choice among the proposals can do better than the upper bound.

No model was trained on boxes, but weights may have learned to draw them from those of other photos
(`seesay.grounding.learned`). Such weights have a second row, `without boxes`: their heat alone, with the proposals.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.data import Item
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.evaluation.protocols import EvaluationSet, Protocol, timed
from seesay.explainers.registry import choose_explainer
from seesay.grounding.boxed_phrases import READINGS, BoxedPhrase, boxed_phrases, phrase_vectors
from seesay.grounding.cells import CellMaps, heat_from
from seesay.grounding.closer import FINER, Closeups, heat_of
from seesay.grounding.heat import Floats, box_overlaps, point_at
from seesay.grounding.learned import learned_boxes
from seesay.grounding.tuned import grounding_of
from seesay.images.arrays import ImageFeatures
from seesay.images.extraction import features_of
from seesay.images.proposals import proposals_of
from seesay.images.regions import Boxes
from seesay.metrics.grounding import GroundingReport, box_accuracy, box_iou, pointing_game
from seesay.models.aligner import Aligner
from seesay.runtime.protocol import Answering
from seesay.settings.grounding import GroundingSettings

PROPOSALS = "search-100"


@dataclass(frozen=True)
class GroundingEvaluation:
    """What a model reached, and what others reach on the same phrases.

    Attributes:
        rows: `model`, `without boxes` where it has learned from boxes, `centre` (and the whole image as its box),
            `random region`; in percent.
        upper_bound: Percent of the phrases whose box is among the proposals.
        by_kind: The figures of the model's rows for each kind of phrase, with their number.
        n_learned: Photos whose boxes it learned from.
        n_boxed: Images that have boxed phrases; of the others, which `n_images` counts too, nothing is asked.
        proposals: Which regions were chosen from.
        reading: Whether phrases were read alone or within their sentence.
        seconds: How long features, proposals and answers took.
    """

    protocol: Protocol
    seed: int | None
    rows: dict[str, GroundingReport]
    upper_bound: float
    by_kind: dict[str, tuple[int, dict[str, GroundingReport]]]
    n_phrases: int
    n_boxed: int
    n_images: int
    n_sentences: int
    proposals: str
    reading: str
    n_learned: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        kinds = {
            kind: {"n_phrases": n}
            | _rounded(rows["model"])
            | {name: _rounded(row) for name, row in rows.items() if name != "model"}
            for kind, (n, rows) in self.by_kind.items()
        }
        return {
            "grounding": {
                **_rounded(self.rows["model"]),
                "beside": {name: _rounded(row) for name, row in self.rows.items() if name != "model"},
                "upper_bound": round(self.upper_bound, 4),
                "by_kind": kinds,
                "n_phrases": self.n_phrases,
                "n_images": self.n_boxed,
                "proposals": self.proposals,
                "reading": self.reading,
                **({"n_learned": self.n_learned} if self.n_learned else {}),
            }
        }


def evaluate_grounding(
    model: Aligner | Answering,
    measured: EvaluationSet,
    *,
    proposals: str = PROPOSALS,
    reading: str = "phrase",
) -> GroundingEvaluation:
    """Measure how well a model finds the regions of phrases.

    Args:
        model: Any matcher that knows regions.
        measured: Images with boxes and phrases (`seesay.data.entities.attach`).
        proposals: Regions to choose a box from: `search-N`, or a scheme of `seesay.images.regions.fixed_regions`.
        reading: Read a `phrase` alone, or as part of its `sentence`.
    """
    if reading not in READINGS:
        raise SeesayError(f"phrases are read {reading!r}", allowed=READINGS)
    collection, store, on_progress = measured.take(), measured.store, measured.on_progress
    phrases = boxed_phrases(collection)
    if not phrases:
        raise SeesayError(
            f"no phrase of {collection.name} has a box", hint="--entities with the folder of Flickr30k Entities"
        )
    boxed = sorted({phrase.item for phrase in phrases})
    paths = [path for number in boxed if (path := collection.items[number].image)]
    if len(paths) < len(boxed):
        raise SeesayError(
            f"{len(boxed) - len(paths):,} of {len(boxed):,} images with boxes are missing",
            hint=f"seesay data check {collection.root}",
        )
    seconds: dict[str, float] = {}
    answers, how = answering(model), grounding_of(model)
    learned = learned_boxes(answers)
    with timed("features", seconds):
        maps = CellMaps(answers, paths, how.closer, store) if learned else None
        table = None if learned else features_of(
            paths, model.feature_spec, ("pooled", "map"), root=store, on_progress=on_progress
        )  # fmt: skip
    with timed("proposals", seconds):
        regions = proposals_of(paths, proposals, root=store, on_progress=on_progress)
    of_item = {number: place for place, number in enumerate(boxed)}
    places = np.array([of_item[phrase.item] for phrase in phrases])
    model_rows = ["model", "without boxes"] if learned else ["model"]
    points = {name: np.zeros((len(phrases), 2)) for name in model_rows}
    drawn = {name: np.zeros((len(phrases), 4)) for name in model_rows}
    closeups = Closeups(paths, 0.0 if learned else how.closer, model.feature_spec, store)
    vectors = phrase_vectors(answers, collection, phrases, reading) if learned else None
    with timed("answers", seconds):
        for place, number in enumerate(boxed):
            own = np.flatnonzero(places == place)
            finer = FINER if how.closer else 1
            if learned is not None and maps is not None and vectors is not None:
                cells = maps[place]
                found = learned.find(cells, vectors[own])
                points["model"][own], drawn["model"][own] = found.points, found.boxes
                heat = heat_from(cells, vectors[own])
            else:
                assert table is not None
                asked = [phrases[at] for at in own]
                locate = partial(locate_phrases, answers, item=collection.items[number], phrases=asked, reading=reading)
                heat = heat_of(table.arrays([place]), closeups[place], locate)
            last = model_rows[-1]
            points[last][own], drawn[last][own] = _answer(heat, finer, regions[place], how)
            if on_progress:
                on_progress(place + 1, len(boxed))
    truth = [phrase.boxes for phrase in phrases]
    centre, whole = np.full((len(phrases), 2), 0.5), np.tile([0.0, 0.0, 1.0, 1.0], (len(phrases), 1))
    chance, bound = _blind([regions[place] for place in places], truth)
    return GroundingEvaluation(
        protocol=measured.rules,
        seed=measured.seed,
        rows={
            **{name: _report(points[name], drawn[name], truth) for name in model_rows},
            "centre": _report(centre, whole, truth),
            "random region": chance,
        },
        upper_bound=bound,
        by_kind=_by_kind(phrases, points, drawn),
        n_learned=learned.how.n_photos if learned else 0,
        n_phrases=len(phrases),
        n_boxed=len(boxed),
        n_images=len(collection),
        n_sentences=len(collection.sentences),
        proposals=proposals,
        reading=reading,
        seconds=seconds,
    )


def locate_phrases(
    model: Answering, features: ImageFeatures, item: Item, phrases: Sequence[BoxedPhrase], reading: str
) -> Floats:
    """The heat of phrases of one image, by the model's first explainer, as `seesay ground` asks for it: (n, h, w).

    Args:
        reading: Read a `phrase` alone, or as the sum of its words within its `sentence`.
    """
    explainer = choose_explainer(model)
    if reading == "phrase":
        return explainer.locate(model, features, [phrase.text for phrase in phrases])
    words = {
        number: explainer.locate_words(model, features, item.sentences[number])
        for number in {phrase.sentence for phrase in phrases}
    }
    return np.stack([words[phrase.sentence][slice(*phrase.span)].sum(0) for phrase in phrases])


def _answer(heat: Floats, finer: int, regions: Boxes, how: GroundingSettings) -> tuple[Floats, Floats]:
    """Where heat points (n, 2), and which of the regions it draws (n, 4).

    Args:
        finer: Cells of the heat along each side, for one of the network's map.
    """
    drawn = regions[box_overlaps(heat, regions, **how.rule).argmax(axis=1)]
    return point_at(heat, how.blur * finer), drawn.astype(np.float64)


def _report(points: Floats, drawn: Floats, truth: Sequence[NDArray[np.float64]]) -> GroundingReport:
    return {"pointing": pointing_game(points, truth), "iou50": box_accuracy(drawn, truth, several="union")}


def _rounded(figures: GroundingReport) -> dict[str, float]:
    return {"pointing": round(figures["pointing"], 4), "iou50": round(figures["iou50"], 4)}


def _blind(regions: Sequence[Boxes], truth: Sequence[NDArray[np.float64]]) -> tuple[GroundingReport, float]:
    """What a region picked by chance reaches on average, and what the best of them would."""
    hits, halves, found = [], [], []
    for some, boxes in zip(regions, truth, strict=True):
        x, y = (some[:, 0] + some[:, 2]) / 2, (some[:, 1] + some[:, 3]) / 2
        left, top, right, bottom = boxes.T[:, :, None]
        hits.append(float(((x >= left) & (x <= right) & (y >= top) & (y <= bottom)).any(axis=0).mean()))
        around = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])[None]
        overlaps = box_iou(some, around)[:, 0] >= 0.5
        halves.append(float(overlaps.mean()))
        found.append(bool(overlaps.any()))
    return {"pointing": 100 * float(np.mean(hits)), "iou50": 100 * float(np.mean(halves))}, 100 * float(np.mean(found))


def _by_kind(
    phrases: Sequence[BoxedPhrase], points: dict[str, Floats], drawn: dict[str, Floats]
) -> dict[str, tuple[int, dict[str, GroundingReport]]]:
    """The figures of each kind of phrase, the most frequent first, by each row of the model."""
    places: dict[str, list[int]] = {}
    for place, phrase in enumerate(phrases):
        for kind in phrase.kinds:
            places.setdefault(kind, []).append(place)
    return {
        kind: (
            len(own),
            {
                name: _report(points[name][own], drawn[name][own], [phrases[place].boxes for place in own])
                for name in points
            },
        )
        for kind, own in sorted(places.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    }
