"""Crops: what a model says of parts of an image, each shown alone, and of a sentence with a word left out.

Nothing is asked of a model but scores, so any joint embedding can be explained, whatever is inside. The heat of a place
is the mean score of the crops that show it. A word weighs as much as the score falls where it is left out.
"""

from typing import TYPE_CHECKING

import numpy as np

from seesay.errors import SeesayError
from seesay.explainers.explanation import PALE, Explanation, Floats, scale_heat
from seesay.explainers.registry import Explainer, register_explainer
from seesay.images.arrays import ImageFeatures
from seesay.images.crops import cut_out, square_crops
from seesay.images.regions import region_weights
from seesay.runtime.protocol import Answering

if TYPE_CHECKING:
    from PIL.Image import Image

GRID = 12
"""Cells along each side of the maps."""


@register_explainer("crops")
class Crops(Explainer):
    """A heat map, a box and a weight for each word, from scores alone."""

    needs_image = True

    def see(self, model: Answering, image: "Image") -> ImageFeatures:
        return see_crops(model, image)

    def explain(self, model: Answering, features: ImageFeatures, sentence: str) -> Explanation:
        if features.crops is None or features.boxes is None:
            raise SeesayError("crops of an image are explained by the image itself", hint="seesay explain PHOTO")
        words, boxes = tuple(sentence.split()), features.boxes[0]
        texts: Floats = model.encode_texts([sentence, *words, *leave_one_out(words)]).astype(np.float64)
        image = model.encode_images(features)[0].astype(np.float64)
        score, rest = float(image @ texts[0]), texts[1 + len(words) :] @ image
        falls = (score - rest).clip(0) if len(words) > 1 else np.ones(1)
        weights = falls / falls.sum() if falls.sum() > 0 else np.full(len(words), 1 / len(words))
        scores = texts[: 1 + len(words)] @ features.crops[0].T  # (1 + T, N)
        maps = spread(scores, boxes)
        return Explanation(
            self.name, words, weights, scale_heat(maps[0], PALE), score, word_maps=maps[1:],
            boxes=boxes[scores[1:].argmax(1)].astype(np.float64),
        )  # fmt: skip


def see_crops(model: Answering, image: "Image") -> ImageFeatures:
    """The features of an image, with what a model makes of each of its crops, shown alone."""
    boxes = square_crops(*image.size)
    whole = model.features([image])
    crops = model.encode_images(model.features([cut_out(image, box) for box in boxes]))  # (N, D)
    return ImageFeatures(whole.pooled, whole.map, lower=whole.lower, crops=crops[None], boxes=boxes[None])


def leave_one_out(words: tuple[str, ...]) -> list[str]:
    """The sentence without each of its words.

    Example:
        >>> leave_one_out(("a", "red", "bus"))
        ['red bus', 'a bus', 'a red']
    """
    return [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]


def spread(scores: Floats, boxes: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Floats:
    """The mean score of the crops that show each cell of a grid: (n, N), (N, 4) → (n, GRID, GRID)."""
    inside = region_weights(boxes, GRID, GRID).astype(np.float64)  # (N, GRID²), each row sums to one
    inside /= np.maximum(inside.max(1, keepdims=True), 1e-12)  # what share of a cell a crop shows
    found: Floats = (scores @ inside / np.maximum(inside.sum(0), 1e-12)).reshape(len(scores), GRID, GRID)
    return found
