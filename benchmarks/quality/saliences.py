"""Which regions would people talk about? Ways to order the windows of a photo, beside the boxes that people drew.

For each photo the best few windows of an even grid are taken, no two of which overlap by half, and compared with all
annotated boxes (Flickr30k Entities). `salient_boxes` orders by one of these ways.

    SEESAY_DATA=… python -m benchmarks.quality.saliences [dvsa] [--split dev] [--photos 150]
"""

import argparse
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.engines import answering
from seesay.grounding.boxed_phrases import boxed_phrases
from seesay.grounding.heat import best_boxes, region_saliences
from seesay.images.extraction import features_of
from seesay.images.regions import Boxes
from seesay.metrics.grounding import box_iou
from seesay.models.aligner import load_aligner

SIDES = (2, 3, 4, 5, 6, 8)
"""Of windows, in tenths of the photo."""
N_BEST = 5
OVERLAP = 0.5


def windows() -> Boxes:
    """Windows of all shapes on a grid of ten by ten, small ones at every place and large ones at every second."""
    found = [
        (x / 10, y / 10, (x + w) / 10, (y + h) / 10)
        for w, h in product(SIDES, SIDES)
        for x in range(0, 11 - w, 1 if w < 4 else 2)
        for y in range(0, 11 - h, 1 if h < 4 else 2)
    ]
    return np.array(found, np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="dvsa")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--photos", type=int, default=150)
    arguments = parse_arguments(parser, "saliences")
    model, boxes = load_aligner(arguments.model), windows()
    collection = entities.attach(data.load("flickr8k").split(arguments.split), data.locate("flickr30k_entities"))
    boxed = collection.keep(lambda item: bool(item.boxes))
    drawn: dict[int, list[NDArray[np.float64]]] = {}
    for phrase in boxed_phrases(boxed):
        drawn.setdefault(phrase.item, []).append(phrase.boxes)
    chosen = sorted(drawn)[: arguments.photos]
    table = features_of([boxed.images[place] for place in chosen], model.feature_spec, ("pooled", "map"))
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, float]]] = {}
    for row, place in enumerate(chosen):
        features = table.rows([row])
        with torch.inference_mode():
            lengths = model.encode_regions(features, boxes)[0].norm(dim=-1).numpy()
        ways = {
            "salience": region_saliences(answering(model), table.arrays([row]), boxes)[0],
            "area": areas,
            "length of the vector": lengths,
            "length of the vector × square root of the area": lengths * np.sqrt(areas),
            "random": rng.random(len(boxes)),
        }
        truth = np.unique(np.concatenate(drawn[place]), axis=0)
        for name, order in ways.items():
            overlaps = box_iou(boxes[best_boxes(order, boxes, N_BEST, overlap=OVERLAP)], truth)
            found.setdefault(name, []).append(
                (float((overlaps.max(1) >= OVERLAP).mean()), float((overlaps.max(0) >= OVERLAP).mean()))
            )
    rows = {}
    for name, shares in found.items():
        precision, recall = np.mean(shares, axis=0)
        rows[name] = {"precision": round(100 * float(precision), 1), "recall": round(100 * float(recall), 1)}
        print(f"{name:48} {rows[name]}")
    record(
        arguments, ("torch", "numpy"), data="flickr8k", split=arguments.split, model=arguments.model,
        n_photos=len(chosen), n_windows=len(boxes), n_best=N_BEST, iou=OVERLAP, rows=rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
