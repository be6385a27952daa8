"""The step `boxes` of `seesay tune`: learn where boxes lie, and say what that gives on dev."""

import hashlib
import random
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

from seesay import data
from seesay.catalogue.weights import Weights
from seesay.data import Collection, entities
from seesay.errors import SeesayError
from seesay.grounding.cells import heat_from
from seesay.grounding.heat import N_COMMON, Floats, box_overlaps, point_at
from seesay.grounding.learned import FILE
from seesay.grounding.tuned import grounding_of
from seesay.images.proposals import available, proposals_of
from seesay.images.regions import Boxes
from seesay.metrics.grounding import GroundingReport, box_accuracy, pointing_game
from seesay.runtime.matching import Model
from seesay.settings.boxes import BoxSettings
from seesay.settings.grounding import GroundingSettings
from seesay.system.files import replace_atomically
from seesay.training.boxes.examples import BoxedPhoto, gather
from seesay.training.boxes.graph import graph_of
from seesay.training.boxes.learning import learn
from seesay.training.boxes.network import BoxFinder, BoxFinderSizes
from seesay.training.finishing.requests import JOINED, Proposal, Request

N_LEARNED = 500
"""Training photos: each is seen in several crops, which takes a sixth of a second of a core."""
N_MEASURED = 300
"""Dev photos on which boxes with and without learning are compared."""
SEED = 0
SPLITS = "train", "dev"
PROPOSALS = "search-100"


def propose_boxes(weights: Weights, request: Request) -> Proposal:
    """A box finder that is better than boxes without learning.

    Raises:
        SeesayError: The weights do not look at photos again, there are no boxes, or what was learned is no better.
    """
    model = Model(weights.folder)
    how = grounding_of(model)
    if not how.closer:
        raise SeesayError(
            f"{weights.name} sees photos as a whole alone, and boxes are learned from crops",
            hint=f"seesay tune {weights.name} --only grounding",
        )
    collection = request.collection(weights, "boxes")
    learned, measured = (
        gather(model, _boxed(collection, split, n, request), how.closer)
        for split, n in zip(SPLITS, (N_LEARNED, N_MEASURED), strict=True)
    )
    request.tell(f"{_count(learned):,} phrases of {len(learned):,} photos to learn from")
    common = model.encode_phrases(model.tokenizer.common_words(N_COMMON)).mean(0)
    side = int(learned[0].cells.shape[1])
    sizes = BoxFinderSizes(side=side)
    finder = learn(learned, torch.from_numpy(common), sizes, tell=request.tell)
    graph = graph_of(finder)  # before anything is measured: it rounds the finder to what will be used
    reached, others = measure(finder, measured), measure_heat(measured, how)
    figures = {"learned": reached, "without boxes": others, "dev photos": len(measured), "sizes": asdict(sizes)}
    request.tell(f"{len(measured)} dev photos: {_say(reached)}; without boxes {_say(others)}")
    if reached["iou50"] <= others["iou50"]:
        raise SeesayError(
            f"boxes that {weights.name} has learned are no better on {collection.name}/dev: {_say(reached)}, without "
            f"learning {_say(others)}"
        )
    digest = hashlib.sha256(graph).hexdigest()
    table = asdict(BoxSettings(FILE, digest, side, len(common), len(learned), _count(learned)))

    def save(folder: Path) -> None:
        with replace_atomically(folder / FILE) as temporary:
            temporary.write_bytes(graph)

    return Proposal("boxes", table, collection.name, figures=figures, save=save, split=JOINED.join(SPLITS))


def _boxed(collection: Collection, split: str, n: int, request: Request) -> Collection:
    """The first n photos with boxes; those to learn from are drawn."""
    items = list(collection.split(split).with_images().items)
    if split == SPLITS[0]:
        random.Random(SEED).shuffle(items)
    # Boxes are read for a few more photos than are wanted: some have none.
    some = replace(collection, items=tuple(items[: n + n // 4 + 1]))
    boxed = entities.attach(some, data.locate(request.entities)).keep(lambda item: bool(item.boxes))
    if not boxed.items:
        raise SeesayError(
            f"no image of {collection.name}/{split} has a box in {request.entities}",
            allowed="--data with photos of Flickr30k, such as flickr8k",
        )
    return replace(boxed, items=boxed.items[:n])


@torch.no_grad()
def measure(finder: BoxFinder, photos: list[BoxedPhoto]) -> GroundingReport:
    """Pointing and boxes of a finder, in percent of the phrases, each as often as people wrote it."""
    found = [finder(photo.cells, photo.vectors) for photo in photos]
    points, drawn = ([answer[place].double().numpy() for answer in found] for place in (0, 1))
    return _report(points, drawn, photos)


def measure_heat(photos: list[BoxedPhoto], how: GroundingSettings) -> GroundingReport:
    """The same of heat alone, with the boxes that `seesay ground` chooses from without learning."""
    scheme, _ = available(PROPOSALS)
    points, drawn = [], []
    for photo, regions in zip(photos, proposals_of([photo.path for photo in photos], scheme), strict=True):
        heat = heat_from(photo.cells.numpy(), photo.vectors.numpy())
        points.append(point_at(heat, 2 * how.blur))
        drawn.append(_best(heat, regions, how))
    return _report(points, drawn, photos)


def _best(heat: Floats, regions: Boxes, how: GroundingSettings) -> Floats:
    drawn: Floats = regions[box_overlaps(heat, regions, **how.rule).argmax(1)].astype(np.float64)
    return drawn


def _report(points: list[Floats], drawn: list[Floats], photos: list[BoxedPhoto]) -> GroundingReport:
    counts = np.concatenate([photo.counts.numpy() for photo in photos]).astype(int)
    truth = [boxes for photo in photos for boxes in photo.boxes]
    often = [boxes for boxes, n in zip(truth, counts, strict=True) for _ in range(n)]
    where, boxes = (np.repeat(np.concatenate(each), counts, axis=0) for each in (points, drawn))
    return {
        "pointing": round(pointing_game(where, often), 2),
        "iou50": round(box_accuracy(boxes, often, several="union"), 2),
    }


def _count(photos: list[BoxedPhoto]) -> int:
    return sum(map(len, photos))


def _say(figures: GroundingReport) -> str:
    return f"pointing {figures['pointing']:.1f} %, IoU {figures['iou50']:.1f} %"
