"""What a second look at an image gives to phrases: crops of several sizes, and crops of the best boxes.

On the first boxed dev photos of Flickr8K (`--photos`): pointing, and boxes by each way's best rule of `RULES`.

* The whole image alone, and with its mirror image.
* Five crops of each side in `SIDES`, read as one map (`seesay.grounding.closer`); without the one in the middle; and
  with the map of the whole.
* Each of the best `N_CANDIDATES` boxes cut out and shown to the eye alone, its cosine with the phrase added to the
  overlap with a weight (`WEIGHTS`).

The sign of what is not there is measured on as many phrases of other photos as a photo has itself: how many of them
keep a box where 85 % of the photo's own do, by logistic curves that are fitted to three quarters of the photos and
measured on the others.

    SEESAY_DATA=… python -m benchmarks.quality.closer [--photos 60]
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from PIL import ImageOps

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Collection, entities
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.grounding.closer import Closer, join_maps, look_closer
from seesay.grounding.heat import Floats, box_overlaps, heat_maps, point_at
from seesay.grounding.presence import signs_of
from seesay.images.crops import cut_out
from seesay.images.io import open_image
from seesay.images.proposals import proposals_of
from seesay.images.regions import Boxes
from seesay.metrics.calibration import fit_logistic, sigmoid
from seesay.metrics.grounding import box_iou
from seesay.runtime.matching import Model
from seesay.runtime.witness import Witness
from seesay.training.finishing.doubt import count_named, draw_foreign

SIDES = (0.55, 0.65, 0.75)
SIDE = 0.65
RULES = tuple(product((-0.25, 0.0, 0.25), (0.5, 1.0), (0.4, 0.5, 0.6)))
N_CANDIDATES = 6
MARGIN = 0.1
WEIGHTS = (0.05, 0.1, 0.2, 0.4)
FOLDS = 4
INPUTS = {
    "score, whole": (0, 1, 2),
    "score, whole, peak": (0, 1, 2, 3),
    "score, whole, look": (0, 1, 2, 4),
    "score, whole, peak, look": (0, 1, 2, 3, 4),
}
"""Columns of what is known of a phrase: score of its box, words, cosine with the whole, peak of its heat, and the eye's
best cosine with a place of the crops."""


@dataclass(frozen=True, eq=False)
class Photo:
    """One photo's phrases, with heat by way and what its candidates are worth.

    Attributes:
        boxed: Its boxed phrases, and the row of each among its texts.
        heat: Heat maps of its own texts by the way they were found.
        cosines: (n, N) of each text and each box that was shown alone; nan for others.
        signs: (n + n_foreign, 5), the columns of `INPUTS`.
        seconds: Of processor time that the crops of side `SIDE` took.
    """

    boxed: list[tuple[int, BoxedPhrase]]
    regions: Boxes
    heat: dict[str, Floats]
    cosines: Floats
    signs: Floats
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, default=60)
    arguments = parse_arguments(parser, "closer")
    model = Model("dvsa", threads=1)
    dev = entities.attach(data.load("flickr8k").split("dev"), data.locate("flickr30k_entities"))
    dev = dev.keep(lambda item: bool(item.boxes))
    dev = replace(dev, items=dev.items[: arguments.photos])
    photos = see_photos(model, dev)
    rows = [{"way": way, **measure(photos, way)} for way in photos[0].heat]
    own = f"crops {SIDE}"
    rows += [{"way": f"{own}, {weight} × crop of the box", **measure(photos, own, weight)} for weight in WEIGHTS]
    present = {name: false_boxes(photos, columns) for name, columns in INPUTS.items()}
    for row in (*rows, present):
        print(row)
    n_phrases = sum(len(photo.boxed) for photo in photos)
    look = round(1000 * float(np.median([photo.seconds for photo in photos])), 1)
    print(f"crops of a photo: {look} ms of processor time")
    record(
        arguments, (), weights="dvsa", n_photos=len(photos), n_phrases=n_phrases, rows=rows, false_boxes=present,
        look_ms=look,
    )  # fmt: skip


def see_photos(model: Model, dev: Collection) -> list[Photo]:
    witness = Witness("eye", model)
    phrases = boxed_phrases(dev)
    own: dict[int, list[str]] = {}
    for phrase in phrases:
        texts = own.setdefault(phrase.item, [])
        texts += [] if phrase.text in texts else [phrase.text]
    foreign = draw_foreign(own, [item.sentences for item in dev.items], seed=0)
    regions = proposals_of(dev.images, "search-100")
    found = []
    for place, texts in own.items():
        boxed = [(texts.index(phrase.text), phrase) for phrase in phrases if phrase.item == place]
        found.append(see_photo(model, witness, dev.images[place], regions[place], boxed, texts, foreign[place]))
        print(f"{len(found)} of {len(own)} photos", end="\r", flush=True)
    return found


def see_photo(
    model: Model, witness: Witness, path: Any, regions: Boxes, boxed: list[tuple[int, BoxedPhrase]],
    texts: list[str], foreign: list[str],
) -> Photo:  # fmt: skip
    image, asked = open_image(path, at_least=1), [*texts, *foreign]
    vectors = model.encode_phrases(asked)
    locate = partial(heat_maps, model, vectors=vectors)
    whole, mirrored = (model.features([each]) for each in (image, ImageOps.mirror(image)))
    everywhere = np.array([[0, 0, 1, 1]], np.float32)
    heat = {"whole": locate(whole), "whole and mirror": locate(whole) + locate(mirrored)[:, :, ::-1]}
    looks: dict[float, Closer] = {}
    seconds: dict[float, float] = {}
    for side in SIDES:
        start = process_time()
        closer = look_closer(image, side, model.features)
        seconds[side] = process_time() - start
        assert closer is not None
        looks[side] = closer
        corners = Closer(closer.features.rows(slice(4)), closer.boxes[:4])
        heat |= {f"crops {side}": closer.heat(locate), f"crops {side}, no middle": corners.heat(locate)}
    own = heat[f"crops {SIDE}"]
    heat["whole and crops"] = own + join_maps(heat["whole"][None], everywhere)
    overlaps = box_overlaps(own, regions, floor=0.0, ramp=1.0, area_power=0.5)
    cosines = np.full((len(texts), len(regions)), np.nan)
    best = np.argsort(-overlaps[: len(texts)], axis=1)[:, :N_CANDIDATES]
    shown = np.unique(best)
    seen = witness.see(model.features([cut_out(image, widen(regions[row])) for row in shown]))
    fits = witness.read(texts) @ seen.T
    for row, candidates in enumerate(best):
        cosines[row, candidates] = fits[row, np.searchsorted(shown, candidates)]
    scores = (vectors @ model.encode_regions(whole, regions)[0].T)[np.arange(len(asked)), overlaps.argmax(1)]
    signs = signs_of(asked, whole, looks[SIDE], own, witness).rows
    columns = np.column_stack([scores, count_named(asked), signs])
    return Photo(
        boxed, regions, {way: maps[: len(texts)] for way, maps in heat.items()}, cosines, columns, seconds[SIDE]
    )


def widen(box: Boxes) -> Boxes:
    """A box with a margin."""
    left, top, right, bottom = (float(edge) for edge in box)
    across, down = MARGIN * (right - left), MARGIN * (bottom - top)
    return np.array([left - across, top - down, right + across, bottom + down], np.float32).clip(0, 1)


def measure(photos: Sequence[Photo], way: str, weight: float = 0.0) -> dict[str, float]:
    """Pointing by the default blur, and boxes by the best rule, in percent."""
    pointed: list[bool] = []
    drawn: dict[tuple[float, float, float], list[bool]] = {rule: [] for rule in RULES}
    for photo in photos:
        heat, rows = photo.heat[way], [row for row, _ in photo.boxed]
        points = point_at(heat, heat.shape[1] / photo.heat["whole"].shape[1])  # a cell of the network's map
        for row, phrase in photo.boxed:
            left, top, right, bottom = phrase.boxes.T
            x, y = points[row]
            pointed.append(bool(((x >= left) & (x <= right) & (y >= top) & (y <= bottom)).any()))
        around = np.array([[*p.boxes[:, :2].min(0), *p.boxes[:, 2:].max(0)] for _, p in photo.boxed])
        ious = box_iou(photo.regions.astype(np.float64), around)
        for rule, hits in drawn.items():
            floor, ramp, power = rule
            gains = box_overlaps(heat, photo.regions, floor=floor, ramp=ramp, area_power=power)
            if weight:
                gains = np.where(np.isnan(photo.cosines), -np.inf, gains + weight * photo.cosines)
            hits += (ious[gains.argmax(1)[rows], np.arange(len(rows))] >= 0.5).tolist()
    return {
        "pointing": round(100 * float(np.mean(pointed)), 2),
        "iou50": round(100 * max(float(np.mean(hits)) for hits in drawn.values()), 2),
    }


def false_boxes(photos: Sequence[Photo], columns: Sequence[int]) -> float:
    """Percent of other photos' phrases that keep a box where 85 % of a photo's own do, on photos not fitted to."""
    texts = [len(np.unique([row for row, _ in photo.boxed])) for photo in photos]
    right = np.concatenate([np.arange(len(p.signs)) < n for p, n in zip(photos, texts, strict=True)]).astype(float)
    folds = np.repeat(np.arange(len(photos)) % FOLDS, [len(photo.signs) for photo in photos])
    given = np.concatenate([photo.signs[:, columns] for photo in photos])
    given = np.column_stack([given / given.std(0), np.ones(len(given))])
    predicted = np.zeros(len(given))
    for fold in range(FOLDS):
        weights = fit_logistic(given[folds != fold], right[folds != fold])
        predicted[folds == fold] = sigmoid(given[folds == fold] @ weights)
    least = np.quantile(predicted[right == 1], 0.15)
    return round(100 * float((predicted[right == 0] >= least).mean()), 2)


if __name__ == "__main__":
    main()
