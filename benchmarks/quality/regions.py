"""How many of the boxes that people drew does each region scheme find, and what does it cost?

A box of Flickr30k Entities counts as found where one region overlaps it with IoU ≥ 0.5. Every scheme sees the same
photos, a seeded sample of the dev photos of Flickr8K (`--images 0`: all). The time is that of one processor for making
the longest list of boxes, the photo being open already.

    SEESAY_DATA=... python -m benchmarks.quality.regions
"""

import argparse
import random
import time
from collections.abc import Callable

import cv2
import numpy as np
from PIL import Image

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.images.io import open_image
from seesay.images.regions import propose, selective_search, whole_and_grid, windows
from seesay.metrics.grounding import box_iou

Scheme = Callable[[Image.Image], np.ndarray]


SCHEMES: dict[str, tuple[Scheme, tuple[int, ...]]] = {
    # Each list is made at its longest; its first rows are the shorter lists.
    "whole": (lambda _: windows(1), (1,)),
    "whole + 2x2 grid": (lambda _: whole_and_grid(2, 2), (5,)),
    "whole + 3x3 grid": (lambda _: whole_and_grid(3, 3), (10,)),
    "whole + 4x4 grid": (lambda _: whole_and_grid(4, 4), (17,)),
    "windows": (lambda _: windows(100), (10, 20, 50, 100)),
    "selective search": (lambda photo: selective_search(photo, 100), (20, 50, 100)),
    "selective search, OpenCV's order": (
        lambda photo: np.concatenate([[[0, 0, 1, 1]], propose(photo)]),
        (20, 50, 100),
    ),
}


def measure(
    scheme: Scheme, lengths: tuple[int, ...], photos: list[Image.Image], truth: list[np.ndarray]
) -> list[dict[str, float]]:
    scheme(photos[0])  # imports and tables that are made once
    start = time.process_time()
    regions = [scheme(photo) for photo in photos]
    seconds = (time.process_time() - start) / len(photos)
    overlaps = [box_iou(boxes, found) for boxes, found in zip(truth, regions, strict=True)]
    rows = []
    for n in lengths:
        best = np.concatenate([overlap[:, :n].max(axis=1) for overlap in overlaps])
        rows.append(
            {
                "regions": n,
                "recall": round(100 * float((best >= 0.5).mean()), 2),
                "mean_best_iou": round(float(best.mean()), 4),
                "cpu_ms_per_image": round(1000 * seconds, 3),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Region recall against the boxes of Flickr30k Entities")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--entities", default="flickr30k_entities")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--images", type=int, default=300, help="sample so many photos; 0 takes all")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse_arguments(parser, "regions")
    cv2.setNumThreads(1)

    collection = data.load(arguments.data).split(arguments.split)
    collection = entities.attach(collection, data.locate(arguments.entities))
    items = [item for item in collection.items if item.boxes and item.image]
    n_photos = len(items)
    if 0 < arguments.images < len(items):
        items = random.Random(arguments.seed).sample(items, arguments.images)
    # Two chains may share a box, which is still one box.
    truth = [np.array(sorted({(b.left, b.top, b.right, b.bottom) for b in item.boxes})) for item in items]
    photos = [open_image(path) for path in (item.image for item in items) if path]
    n_boxes = sum(map(len, truth))
    print(f"{len(items)} of {n_photos} {arguments.split} photos (seed {arguments.seed}), {n_boxes} boxes")
    print(f"{'scheme':<34} {'regions':>7} {'recall %':>8} {'mean IoU':>8} {'ms/image':>8}")
    rows = {}
    for name, (scheme, lengths) in SCHEMES.items():
        rows[name] = measure(scheme, lengths, photos, truth)
        for row in rows[name]:
            print(
                f"{name:<34} {row['regions']:7} {row['recall']:8.1f} {row['mean_best_iou']:8.3f} "
                f"{row['cpu_ms_per_image']:8.2f}",
                flush=True,
            )
    record(
        arguments,
        ("numpy", "pillow", "opencv-contrib-python-headless"),
        data=arguments.data,
        split=arguments.split,
        n_images=len(items),
        n_images_in_split=n_photos,
        n_boxes=n_boxes,
        seed=arguments.seed,
        iou_threshold=0.5,
        threads=1,
        rows=rows,
    )


if __name__ == "__main__":
    main()
