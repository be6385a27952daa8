"""How heat maps become points and boxes, and words phrases.

Each constant is varied while the others stay as they are. Points are judged by the pointing game, boxes by an IoU of a
half with the box around the phrase's own, and words by whether the middle of their box lies in a box of their phrase.
Whether images are looked at again in crops is chosen before the others, by points and boxes together, each way with
the constants that suit it best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from seesay.data import Collection, Item
from seesay.engines import answering
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases, phrase_vectors
from seesay.grounding.chains import align_words
from seesay.grounding.closer import FINER, Closeups, heat_of
from seesay.grounding.heat import Floats, box_overlaps, heat_maps, point_at
from seesay.images.extraction import features_of
from seesay.images.proposals import proposals_of
from seesay.images.regions import Boxes
from seesay.metrics.grounding import box_iou
from seesay.models.aligner import Aligner
from seesay.runtime.protocol import Answering
from seesay.settings.grounding import GroundingSettings
from seesay.text.function_words import name_things
from seesay.text.tokens import tokenize
from seesay.training.finishing.choosing import choose

BLURS = (0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
FLOORS = (-0.5, -0.25, 0.0, 0.25, 0.5)
RAMPS = (0.5, 1.0, 2.0)
AREA_POWERS = (0.4, 0.5, 0.6, 0.7, 0.8)
COUPLINGS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
COMMONS = (0.0, 0.4, 0.6, 0.8, 1.0)
SIDES = (0.0, 0.65)
"""Of the crops; `benchmarks/quality/closer.py` compares others."""
WHOLE = ("squash", "mirror")
"""How networks are shown images that see all of a crop: one that sees its middle alone is not asked again."""
PROPOSALS = "search-100"

Hits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Phrases:
    """Boxed phrases of some images with all that choosing needs.

    Attributes:
        heat: (n, h, w) the heat map of each.
        places: (n,) the image of each.
        truth: The boxes of each, (n_boxes, 4).
        regions: The candidates of each image.
        finer: Cells of a heat map along each side, for one of the network's map.
    """

    heat: Floats
    places: NDArray[np.intp]
    truth: list[NDArray[np.float64]]
    regions: list[Boxes]
    finer: int = 1


@dataclass(frozen=True, eq=False)
class Words:
    """The words of one sentence with boxed phrases.

    Attributes:
        heat: (T, h, w) the heat map of each word.
        regions: The candidates of the image.
        grounded: Which words get a box.
        phrases: Spans of words and their boxes.
    """

    heat: Floats
    regions: Boxes
    grounded: list[bool]
    phrases: list[tuple[tuple[int, int], NDArray[np.float64]]]


Gathered = tuple[Phrases, list[Words]]
Rule = tuple[float, float, float]


def choose_grounding(
    gathered: Mapping[float, Gathered], present: GroundingSettings
) -> tuple[GroundingSettings, dict[str, dict[str, float]]]:
    """The settings that dev prefers (`seesay.training.finishing.choosing`), and what each value reaches, in percent.

    Args:
        gathered: What a model sees by the side of the crops; 0 for the whole image alone.
        present: The settings that are in use.
    """
    now = (present.floor, present.ramp, present.area_power)
    tried = {side: _try(phrases, present.blur, now) for side, (phrases, _) in gathered.items()}
    closers = {side: np.concatenate([_most(blurs), _most(rules)]) for side, (blurs, rules) in tried.items()}
    side = choose(closers, present.closer)
    (blurs, rules), sentences = tried[side], gathered[side][1]
    floor, ramp, power = choose(rules, now)
    blur = choose(blurs, present.blur)
    found = replace(present, closer=side, blur=blur, floor=floor, ramp=ramp, area_power=power)
    commons = {common: hit_words(sentences, replace(found, common=common)) for common in _with(COMMONS, present.common)}
    found = replace(found, common=choose(commons, present.common))
    couplings = {
        coupling: hit_words(sentences, replace(found, coupling=coupling))
        for coupling in _with(COUPLINGS, present.coupling)
    }
    found = replace(found, coupling=choose(couplings, present.coupling))
    figures = {
        "pointing by closer": {f"{side:g}": _percent(_most(blurs)) for side, (blurs, _) in tried.items()},
        "boxes by closer": {f"{side:g}": _percent(_most(rules)) for side, (_, rules) in tried.items()},
        "pointing by blur": {f"{blur:g}": _percent(hits) for blur, hits in blurs.items()},
        "boxes by floor, ramp, area power": {
            " ".join(f"{part:g}" for part in rule): _percent(hits) for rule, hits in rules.items()
        },
        "words by common": {f"{common:g}": _percent(hits) for common, hits in commons.items()},
        "words by coupling": {f"{coupling:g}": _percent(hits) for coupling, hits in couplings.items()},
    }
    return found, figures


def _try(phrases: Phrases, blur: float, now: Rule) -> tuple[dict[float, Hits], dict[Rule, Hits]]:
    """Points by blur, and boxes by floor, ramp and power of the area."""
    rules = dict.fromkeys([now, *product(FLOORS, RAMPS, AREA_POWERS)])
    blurs = {blur: hit_points(phrases, blur) for blur in _with(BLURS, blur)}
    return blurs, {rule: hit_boxes(phrases, *rule) for rule in rules}


def _most(tried: Mapping[float, Hits] | Mapping[Rule, Hits]) -> Hits:
    return max(tried.values(), key=lambda hits: float(hits.mean()))


def _with(grid: Sequence[float], present: float) -> list[float]:
    return sorted({*grid, present})


def _percent(hits: Hits) -> float:
    return round(100 * float(hits.mean()), 2)


def hit_points(phrases: Phrases, blur: float) -> Hits:
    """Whether the point of each phrase lies in one of its boxes: (n,)."""
    points = point_at(phrases.heat, blur * phrases.finer)
    return np.array([_inside(point, boxes) for point, boxes in zip(points, phrases.truth, strict=True)])


def hit_boxes(phrases: Phrases, floor: float, ramp: float, area_power: float) -> Hits:
    """Whether the box of each phrase overlaps the box around its own by half: (n,)."""
    hits = np.zeros(len(phrases.heat), bool)
    for place in np.unique(phrases.places):
        own = np.flatnonzero(phrases.places == place)
        regions = phrases.regions[place]
        overlaps = box_overlaps(phrases.heat[own], regions, floor=floor, ramp=ramp, area_power=area_power)
        around = np.array([[*phrases.truth[row][:, :2].min(0), *phrases.truth[row][:, 2:].max(0)] for row in own])
        ious = box_iou(regions.astype(np.float64), around)  # (N, n_own)
        hits[own] = ious[overlaps.argmax(axis=1), np.arange(len(own))] >= 0.5
    return hits


def hit_words(sentences: Sequence[Words], settings: GroundingSettings) -> Hits:
    """Whether the box of each word of a boxed phrase has its middle in a box of the phrase."""
    hits: list[bool] = []
    for words in sentences:
        parts = align_words(words.heat, words.regions, grounded=words.grounded, settings=settings)
        for part in parts:
            left, top, right, bottom = words.regions[part.region]
            middle = np.array([(left + right) / 2, (top + bottom) / 2])
            for (first, last), boxes in words.phrases:
                n_shared = min(part.last, last) - max(part.first, first)
                hits += [_inside(middle, boxes)] * max(0, n_shared)
    return np.array(hits)


def _inside(point: NDArray[np.float64], boxes: NDArray[np.float64]) -> bool:
    left, top, right, bottom = boxes.T
    x, y = point
    return bool(((x >= left) & (x <= right) & (y >= top) & (y <= bottom)).any())


def sides_for(model: Aligner, present: GroundingSettings) -> list[float]:
    """The sides of crops that are tried for a model."""
    return _with(SIDES, present.closer) if model.feature_spec.crop in WHOLE else [0.0]


def gather(model: Aligner, collection: Collection, side: float = 0.0) -> Gathered:
    """The boxed phrases and sentences of a collection (`seesay.data.entities.attach`) as a model sees them.

    Args:
        side: Of the crops in which it sees each image; 0 where it sees the whole alone.
    """
    answers = answering(model)
    table = features_of(collection.images, model.feature_spec, ("pooled", "map"))
    closeups = Closeups(collection.images, side, model.feature_spec)
    regions = proposals_of(collection.images, PROPOSALS)
    phrases = boxed_phrases(collection)
    places = np.array([phrase.item for phrase in phrases])
    vectors = phrase_vectors(answers, collection, phrases, "phrase")
    heat: list[Floats] = []
    words: list[Words] = []
    for item in np.unique(places).tolist():
        own = [phrase for phrase in phrases if phrase.item == item]
        read = _read_words(answers, collection.items[item], own)
        asked = [vectors[places == item], *(states for states, _ in read)]
        locate = partial(heat_maps, answers, vectors=np.concatenate(asked))  # what a cell is, is computed once
        first, *others = np.split(
            heat_of(table.arrays([item]), closeups[item], locate), np.cumsum([len(each) for each in asked])[:-1]
        )
        heat.append(first)
        words += [Words(maps, regions[item], *about) for maps, (_, about) in zip(others, read, strict=True)]
    finer = FINER if side else 1
    return Phrases(np.concatenate(heat), places, [phrase.boxes for phrase in phrases], regions, finer), words


Spans = list[tuple[tuple[int, int], NDArray[np.float64]]]


def _read_words(
    model: Answering, item: Item, phrases: Sequence[BoxedPhrase]
) -> list[tuple[NDArray[np.float32], tuple[list[bool], Spans]]]:
    """Of each sentence of an image with boxed phrases the vectors of its words, which get a box, and the phrases."""
    by_sentence: dict[int, list[BoxedPhrase]] = {}
    for phrase in phrases:
        by_sentence.setdefault(phrase.sentence, []).append(phrase)
    found = []
    for sentence, own in by_sentence.items():
        text = item.sentences[sentence]
        texts = model.encode_texts([text])
        n_words = min(int(texts.lengths[0]), max(phrase.span[1] for phrase in own))
        spans = [(phrase.span, phrase.boxes) for phrase in own]
        found.append((texts.states[0, :n_words], (name_things(tokenize(text)[:n_words]), spans)))
    return found
