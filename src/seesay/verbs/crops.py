"""Regions by a model that keeps a photo as one vector: crops that it is shown, or places of its network's map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seesay.errors import SeesayError
from seesay.explainers.crops import see_crops
from seesay.explainers.explaining import seen_by
from seesay.images.regions import windows
from seesay.verbs.features import see
from seesay.verbs.inputs import NamedImage
from seesay.verbs.results import Bars, Box

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seesay.runtime.protocol import Answering

N_PLACES = 20
"""Windows of a map that are compared with a phrase."""
_BATCH = 64

Found = dict[str, list[tuple[NamedImage, Box, float]]]


def search_crops(
    model: "Answering", images: Sequence[NamedImage], phrases: list[str], n: int, bars: Bars, title: str
) -> tuple[Found, dict[str, str]]:
    """For each phrase the best images, each with its best crop and the score; and why others cannot be used."""
    vectors = model.encode_texts(phrases)
    usable, scores, boxes, failures = [], [], [], {}
    with bars(title) as on_progress:
        for number, image in enumerate(images, 1):
            try:
                seen = see_crops(model, image.open())
            except SeesayError as error:
                failures[image.name] = error.what
            else:
                assert seen.crops is not None
                assert seen.boxes is not None
                fits = seen.crops[0] @ vectors.T  # (N, n_phrases)
                usable.append(image)
                scores.append(fits.max(0))
                boxes.append(seen.boxes[0][fits.argmax(0)])
            on_progress(number, len(images))
    if not usable:
        raise SeesayError("there are no photos to look at", allowed="one or more")
    return _best(phrases, usable, np.stack(scores), np.stack(boxes), n), failures


def search_places(
    model: "Answering", images: Sequence[NamedImage], phrases: list[str], n: int, bars: Bars, title: str
) -> tuple[Found, dict[str, str]]:
    """The same by windows of the map, which is computed once and kept."""
    vectors, candidates = model.encode_texts(phrases), windows(N_PLACES)
    with see(model, images, bars, keep_maps=True, title=title, outputs=("pooled", "map")) as all_seen:
        seen = all_seen.distinct()
        if not seen.images:
            raise SeesayError("there are no photos to look at", allowed="one or more")
        fits = np.concatenate(
            [model.encode_regions(features, candidates) @ vectors.T for features in seen.batches(_BATCH)]
        )  # (n_images, N, n_phrases)
    found = _best(phrases, seen.images, fits.max(1), candidates[fits.argmax(1)], n)
    placed = {
        phrase: [(image, _in_image(model, image, box), score) for image, box, score in rows]
        for phrase, rows in found.items()
    }
    return placed, seen.failures


def _best(
    phrases: list[str],
    images: Sequence[NamedImage],
    scores: "NDArray[np.float32]",
    boxes: "NDArray[np.float32]",
    n: int,
) -> Found:
    """From scores (n_images, n_phrases) and boxes (n_images, n_phrases, 4)."""
    order = np.argsort(-scores, axis=0, kind="stable")[:n].T
    return {
        phrase: [(images[place], _box(boxes[place, row]), float(scores[place, row])) for place in order[row].tolist()]
        for row, phrase in enumerate(phrases)
    }


def _in_image(model: "Answering", image: NamedImage, box: Box) -> Box:
    """A box of what the network was shown as one of the whole image."""
    left, top, right, bottom = seen_by(model, image.open().size)
    start, scale = np.array([left, top] * 2), np.array([right - left, bottom - top] * 2)
    return _box(start + np.array(box) * scale)


def _box(edges: "NDArray[np.float32] | NDArray[np.float64]") -> Box:
    left, top, right, bottom = (float(edge) for edge in edges)
    return left, top, right, bottom
