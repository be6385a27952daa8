"""How good are the correspondences that a model finds between phrases and regions, without ever seeing one?

The paper had 2,000 of them judged by people, of which 82 % were called correct. Here the boxes of Flickr30k Entities
judge: a noun phrase of a training sentence that people marked, to the word, is correct where the region chosen for it
overlaps a box of its chain by half (IoU ≥ 0.5). Milder rules are measured too: IoU ≥ 0.3, and the centre of the region
inside a box. Baselines are a region chosen blindly and the whole image; the upper bound is the share of phrases for
which any of the regions would have been correct. A phrase names a part of an image: with `parts_only` it chooses among
the regions other than the whole image.

The paper also says that regions are nested as phrases are: that of "two people on chairs" covers those of "two people"
and "chairs" (section 5.3.2). Needing no boxes, that is counted over all noun phrases inside another, and beside it with
the outer regions shuffled: a large region covers much whatever it belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.images.extraction import FeatureTable
from seesay.images.features import Features
from seesay.images.regions import Boxes
from seesay.layers.dropout import without_dropout
from seesay.metrics.grounding import box_iou, pointing_game
from seesay.models.hmlstm import HMLSTM
from seesay.scoring import choose_regions, find_correspondences

MILD = 0.3
"""The IoU of the milder rule."""
COVERED = 0.9
"""The share of a phrase's region that has to lie in that of the phrase around it."""


@dataclass(frozen=True)
class Correspondence:
    """A noun phrase and the region that was found for it.

    Attributes:
        phrase: As it was marked.
        region: Which of the model's boxes.
        confidence: The cosine of the two vectors, 0 where it is negative.
        overlap: The largest IoU with a box of the phrase's chain.
    """

    phrase: BoxedPhrase
    region: int
    confidence: float
    overlap: float


@dataclass(frozen=True)
class CorrespondenceReport:
    """Shares in percent.

    Attributes:
        correct: Of the model.
        correct_30: Of the model, where an overlap of 0.3 is enough.
        centred: Phrases with the centre of their region inside one of their boxes.
        whole_chosen: Phrases for which the model chooses the whole image.
        confident: Of the half of its correspondences that it is surer of.
        random, whole, upper_bound: Of other choices among the same regions.
        n_phrases: Marked phrases that are noun phrases of a tree.
        n_marked: All marked phrases with a box.
        covered: Noun phrases inside another one whose region lies in the other's, to `COVERED` of its area.
        covered_shuffled: The same with the other's region taken from another pair at random.
        same_region: Of these pairs, those that chose the same region twice, which therefore cover each other.
        n_nested: How many there are.
    """

    correct: float
    correct_30: float
    centred: float
    whole_chosen: float
    confident: float
    random: float
    whole: float
    upper_bound: float
    n_phrases: int
    n_marked: int
    covered: float
    covered_shuffled: float
    same_region: float
    n_nested: int


def judge_correspondences(
    model: HMLSTM,
    collection: Collection,
    table: FeatureTable,
    maps: FeatureTable | None = None,
    *,
    threshold: float = 0.5,
    parts_only: bool = False,
    proposals: Sequence[Boxes] | None = None,
) -> tuple[CorrespondenceReport, list[Correspondence]]:
    """Find the correspondences of a collection's sentences and compare them with its boxes.

    Args:
        collection: Images with boxes and phrases (`seesay.data.entities.attach`).
        table: Their features, with the model's outputs.
        maps: The same images with their maps, where regions are to be chosen by heat (`find_correspondences`).
        threshold: The least IoU that is correct.
        parts_only: Leave out the whole image, for the model and for who chooses blindly alike.
        proposals: The regions of each image, as many of each and the whole first, in place of the model's own; the
            table has maps then.
    """
    phrases = boxed_phrases(collection)
    source = Examples.of(collection, table)
    chosen_regions = find_correspondences(model, source, maps, parts_only=parts_only, proposals=proposals)
    region, confidence = (found.numpy() for found in chosen_regions)
    boxes = np.stack([model.boxes] * len(collection) if proposals is None else proposals)  # (n, N, 4)
    place_of = _number_spans(model, source)
    first_sentence = np.append(source.first_of, len(source.sentences))
    kept: list[tuple[BoxedPhrase, int]] = []
    for phrase in phrases:
        place = place_of.get((int(first_sentence[phrase.item]) + phrase.sentence, *phrase.span))
        if place is not None:
            kept.append((phrase, place))
    if not kept:
        raise SeesayError(
            f"no noun phrase of {collection.name} has a box", hint="--entities with the folder of Flickr30k Entities"
        )
    overlaps = np.stack([box_iou(boxes[phrase.item], phrase.boxes).max(axis=1) for phrase, _ in kept])  # (n, N)
    places = np.array([place for _, place in kept])
    chosen, sure = region[places], confidence[places]
    found = overlaps[np.arange(len(kept)), chosen]
    hits = found >= threshold
    choice = overlaps[:, 1:] if parts_only else overlaps
    box_of = boxes[[phrase.item for phrase, _ in kept], chosen]
    centres = np.stack([box_of[:, [0, 2]].mean(1), box_of[:, [1, 3]].mean(1)], 1)
    outer, inner = _nested(model, source)
    of_noun = boxes[_images_of_nouns(model, source), region]  # (P, 4)
    mixed = np.random.default_rng(0).permutation(len(outer))
    surer = np.argsort(-sure, kind="stable")[: max(1, len(kept) // 2)]
    report = CorrespondenceReport(
        correct=_percent(hits),
        correct_30=_percent(found >= MILD),
        centred=float(pointing_game(centres, [phrase.boxes for phrase, _ in kept])),
        whole_chosen=_percent(chosen == 0),
        confident=_percent(hits[surer]),
        random=_percent(choice >= threshold),
        whole=_percent(overlaps[:, 0] >= threshold),
        upper_bound=_percent((choice >= threshold).any(axis=1)),
        n_phrases=len(kept),
        n_marked=len(phrases),
        covered=_percent(_covers(of_noun[outer], of_noun[inner])),
        covered_shuffled=_percent(_covers(of_noun[outer][mixed], of_noun[inner])),
        same_region=_percent(region[outer] == region[inner]),
        n_nested=len(outer),
    )
    return report, [
        Correspondence(phrase, int(chosen[row]), float(sure[row]), float(found[row]))
        for row, (phrase, _) in enumerate(kept)
    ]


@torch.inference_mode()
def match_phrases(model: HMLSTM, features: Features, sentence: str) -> dict[int, NDArray[np.float32]]:
    """The region of one image for each noun phrase of a sentence, as `draw_correspondences` takes them.

    Args:
        model: Whose regions are chosen from, as its configuration says.
        features: Of one image, with its map where the model chooses by heat.
        sentence: Any; its noun phrases are numbered as the nodes of `seesay.text.trees.parse`.
    """
    if len(features) != 1:
        raise ValueError(f"phrases are matched in one image, not in {len(features)}")
    with without_dropout(model):
        phrases = model.encode_trees([sentence]).phrases
        owner = torch.zeros(len(phrases), dtype=torch.int64)
        maps = features if model.config.match == "heat" else None
        chosen, _ = choose_regions(model, model.encode_images(features), phrases, owner, maps)
    (reading,) = model.read([sentence])
    return {int(node): model.boxes[int(region)] for node, region in zip(reading.nouns, chosen, strict=True)}


def _number_spans(model: HMLSTM, source: Examples) -> dict[tuple[int, int, int], int]:
    """Where the noun phrase of a sentence with a span stands among all of them; the outermost of equal ones."""
    places: dict[tuple[int, int, int], int] = {}
    number = 0
    for sentence, reading in enumerate(model.read(source.sentences)):
        for first, last in reading.spans.tolist():
            places.setdefault((sentence, first, last), number)
            number += 1
    return places


def _nested(model: HMLSTM, source: Examples) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of noun phrases that stand inside another, and before them those of the smallest around them."""
    pairs: list[tuple[int, int]] = []
    first_number = 0
    for reading in model.read(source.sentences):
        spans = [(int(first), int(last)) for first, last in reading.spans.tolist()]
        for inner, (first, last) in enumerate(spans):
            around = [
                (end - start, outer)
                for outer, (start, end) in enumerate(spans)
                if start <= first and last <= end and end - start > last - first
            ]
            if around:
                pairs.append((first_number + min(around)[1], first_number + inner))
        first_number += len(spans)
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _images_of_nouns(model: HMLSTM, source: Examples) -> NDArray[np.int64]:
    """The image of every noun phrase: (P,)."""
    counts = [len(reading.spans) for reading in model.read(source.sentences)]
    return np.repeat(np.asarray(source.image_of, np.int64), counts)


def _covers(around: Boxes, own: Boxes) -> NDArray[np.bool_]:
    """Whether boxes (n, 4) cover others."""
    shared = np.minimum(around[:, 2:], own[:, 2:]) - np.maximum(around[:, :2], own[:, :2])  # (n, 2): width, height
    inside: NDArray[np.bool_] = shared.clip(0).prod(1) >= COVERED * (own[:, 2:] - own[:, :2]).prod(1)
    return inside


def _percent(hits: ArrayLike) -> float:
    found = np.asarray(hits)
    return 100 * float(found.mean()) if found.size else 0.0
