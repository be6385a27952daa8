"""Heat maps of words and phrases, and the points and boxes that fit them.

Every cell of an image's feature map is a small region, so a word or a phrase has a heat map, whose hottest place is
pointed at. A box should hold what is hot and nothing else: the one that is drawn overlaps the heated part of the image
best, as IoU counts it.

An aligner has learned vectors for regions and for words. A joint embedding has a vector for every cell, too: the cell
taken for the whole image. All its maps share hot spots, which are striking whatever is asked for, so the mean vector of
many common words is subtracted from that of a phrase. On the phrases of Flickr30k Entities about Flickr8K's dev photos
this points better.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.features import Features
from seesay.images.regions import Boxes, region_weights, whole_and_grid
from seesay.metrics.grounding import box_iou, peaks
from seesay.models.aligner import Aligner
from seesay.models.base import Matcher
from seesay.settings.grounding import GroundingSettings
from seesay.text.vocabulary import SPECIAL

Scores = NDArray[np.float32] | NDArray[np.float64]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

DEFAULT = GroundingSettings()

N_COMMON = 150
"""The most frequent words of a vocabulary, whose mean is subtracted from the words of a joint embedding."""


@torch.inference_mode()
def heat_maps(model: Matcher, features: Features, vectors: Tensor) -> Floats:
    """How well each cell of one image's feature map fits vectors of words or phrases: (n, D) → (n, h, w).

    Args:
        model: An aligner or a joint embedding.
        features: Of one image, with its map.
        vectors: Of words or phrases (`term_vectors`), or sums of word vectors.

    Raises:
        SeesayError: The model has no vectors of cells.

    Example:
        >>> from PIL import Image
        >>> from seesay.models.pretrained import load
        >>> model = load("vse")
        >>> features = model.features([Image.new("RGB", (64, 64), "green")])
        >>> heat_maps(model, features, term_vectors(model, ["grass", "a red bus"])).shape
        (2, 10, 10)
    """
    if len(features) != 1 or features.map is None:
        raise ValueError(f"heat maps are of one image with its map, not of {len(features)}")
    _, height, width, channels = features.map.shape
    if isinstance(model, Aligner):
        cells = model.encode_regions(features, whole_and_grid(height, width)[1:])[0]  # (h · w, D)
    elif model.is_embedding:
        vector = features.map.reshape(-1, channels)
        # Where a model pools several regions of the map, a cell is an image of which every region shows the same.
        cells = model.encode_images(Features(vector, vector[:, None, None]))
    else:
        raise _no_vectors(model)
    heat: Floats = (vectors @ cells.T).view(len(vectors), height, width).double().numpy()
    return heat


@torch.inference_mode()
def term_vectors(model: Matcher, phrases: Sequence[str]) -> Tensor:
    """The vectors of words or phrases, each read for itself, that `heat_maps` compares with cells: (n, D).

    Raises:
        SeesayError: The model has no vectors that could be compared with cells.
    """
    if isinstance(model, Aligner):
        return model.encode_phrases(phrases)
    if not model.is_embedding:
        raise _no_vectors(model)
    common = model.vocabulary.words[len(SPECIAL) : len(SPECIAL) + N_COMMON]  # the most frequent come first
    vectors: Tensor = model.encode_texts([*phrases, *common])
    return vectors[: len(phrases)] - vectors[len(phrases) :].mean(0)


def _no_vectors(model: Matcher) -> SeesayError:
    name = model.weights.name if model.weights else model.family
    return SeesayError(
        f"{name} cannot say which region a word refers to",
        allowed="an aligner, or a joint embedding",
        hint="seesay models",
    )


def point_at(heat: Scores, blur: float = DEFAULT.blur) -> Floats:
    """The hottest place of each map as x, y fractions, after spreading its heat a little: (n, h, w) → (n, 2).

    Example:
        >>> point_at(np.array([[[0, 0, 0, 0], [0, 0, 3, 0]]])).tolist()
        [[0.625, 0.75]]
    """
    points: Floats = peaks(_bell(heat.shape[1], blur) @ heat @ _bell(heat.shape[2], blur).T)
    return points


def box_overlaps(
    heat: Scores,
    boxes: Boxes,
    *,
    floor: float = DEFAULT.floor,
    ramp: float = DEFAULT.ramp,
    area_power: float = DEFAULT.area_power,
) -> Floats:
    """How well each box fits the heated part of each map: (n, h, w), (N, 4) → (n, N), 0 to 1.

    Every place is hot to some degree p from 0 to 1. The overlap is Σ_inside p / (area + Σ_outside p): the IoU of the
    box and the hot places, if these are wholly hot and `area_power` is 1.

    Args:
        heat: Of words or phrases in one image.
        boxes: Candidates in the same image.
        floor: Where p begins to rise, in standard deviations from the mean of a map.
        ramp: The deviations from there to p = 1; above 0.
        area_power: The power of the area in the denominator.

    Example:
        >>> heat = np.array([[[0.0, 0.0, 4.0, 4.0]]])
        >>> boxes = np.array([[0, 0, 1, 1], [0.5, 0, 1, 1], [0.75, 0, 1, 1]], np.float32)
        >>> box_overlaps(heat, boxes, area_power=1).tolist()  # the right half is hot
        [[0.5, 1.0, 0.5]]
    """
    n, height, width = heat.shape
    flat = heat.reshape(n, -1)
    deviation = np.maximum(flat.std(axis=1, keepdims=True), TINY)
    hot = (((flat - flat.mean(axis=1, keepdims=True)) / deviation - floor) / ramp).clip(0, 1)  # (n, h · w)
    area = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).astype(np.float64)
    inside = (hot @ region_weights(boxes, height, width).T) * area  # (n, N)
    overlaps: Floats = inside / (area**area_power + hot.mean(axis=1, keepdims=True) - inside)
    return overlaps


def best_boxes(overlaps: Scores, boxes: Boxes, n: int = 1, *, overlap: float = 0.5) -> Indices:
    """The n boxes that fit best, no two of which overlap by more than `overlap` (IoU), the best first."""
    kept: list[int] = []
    for place in np.argsort(-np.asarray(overlaps, np.float64), kind="stable"):
        if len(kept) == n:
            break
        if not kept or box_iou(boxes[place : place + 1], boxes[kept]).max() <= overlap:
            kept.append(int(place))
    return np.array(kept, np.intp)


@torch.inference_mode()
def salient_boxes(model: Aligner, features: Features, boxes: Boxes, n: int, *, overlap: float = 0.4) -> Indices:
    """The n boxes of one image that people would talk about, the longest vectors first (DVSA supplement, section 1).

    Args:
        model: Any matcher that knows regions.
        features: Of one image, with its map.
        boxes: Candidates.
        n: How many; fewer where the others overlap those.
        overlap: The IoU above which two boxes show the same.
    """
    return best_boxes(model.encode_regions(features, boxes)[0].norm(dim=-1).numpy(), boxes, n, overlap=overlap)


def _bell(n: int, width: float) -> Floats:
    """A matrix that spreads a row of n numbers by a bell curve, with all of its weight inside: (n, n)."""
    if width == 0:
        return np.eye(n)
    places = np.arange(n)
    bell = np.exp(-0.5 * ((places[:, None] - places) / width) ** 2)
    spread: Floats = bell / bell.sum(axis=1, keepdims=True)
    return spread


TINY = 1e-12
