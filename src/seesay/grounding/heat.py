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
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.images.arrays import ImageFeatures
from seesay.images.regions import Boxes, region_weights, whole_and_grid
from seesay.metrics.grounding import box_iou, peaks
from seesay.runtime.protocol import Answering
from seesay.settings.grounding import GroundingSettings

Scores = NDArray[np.float32] | NDArray[np.float64]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

DEFAULT = GroundingSettings()

N_COMMON = 150
"""The most frequent words of a vocabulary, whose mean is subtracted from the words of a joint embedding."""

N_NAMING = 1000
"""The most frequent words of a vocabulary, of which one has to name what a salient region shows."""


def heat_maps(model: Answering, features: ImageFeatures, vectors: Scores) -> Floats:
    """How well each cell of one image's feature map fits vectors of words or phrases: (n, D) → (n, h, w).

    Args:
        model: An aligner or a joint embedding.
        features: Of one image, with its map.
        vectors: Of words or phrases (`term_vectors`), or sums of word vectors.

    Raises:
        SeesayError: The model has no vectors of cells.

    Example:
        >>> from PIL import Image
        >>> from seesay.runtime.matching import Model
        >>> model = Model("vse")
        >>> features = model.features([Image.new("RGB", (64, 64), "green")])
        >>> heat_maps(model, features, term_vectors(model, ["grass", "a red bus"])).shape
        (2, 10, 10)
    """
    if len(features) != 1 or features.map is None:
        raise ValueError(f"heat maps are of one image with its map, not of {len(features)}")
    _, height, width, _ = features.map.shape
    if model.can("regions"):
        cells = model.encode_regions(features, whole_and_grid(height, width)[1:])[0]  # (h · w, D)
    elif model.is_embedding:
        # Where a model pools several regions of the map, a cell is an image of which every region shows the same.
        cells = model.encode_images(features.cells(maps="map" in model.outputs))
    else:
        raise _no_vectors(model)
    heat: Floats = (vectors @ cells.T).reshape(len(vectors), height, width).astype(np.float64)
    return heat


def term_vectors(model: Answering, phrases: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of words or phrases, each read for itself, that `heat_maps` compares with cells: (n, D).

    Raises:
        SeesayError: The model has no vectors that could be compared with cells.
    """
    if model.can("phrases"):
        return model.encode_phrases(phrases)
    if not model.is_embedding:
        raise _no_vectors(model)
    common = model.tokenizer.common_words(N_COMMON)
    vectors: NDArray[np.float32] = model.encode_texts([*phrases, *common])
    found: NDArray[np.float32] = vectors[: len(phrases)] - vectors[len(phrases) :].mean(0)
    return found


def _no_vectors(model: Answering) -> SeesayError:
    return SeesayError(
        f"{model.name} cannot say which region a word refers to",
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


def region_saliences(model: Answering, features: ImageFeatures, boxes: Boxes) -> NDArray[np.float32]:
    """How much there is to say about regions of images: (n, N).

    A region with a long vector counts for much (DVSA supplement, section 1). Where lengths were not learned, it is the
    cosine with the common word that fits it best, times the square root of its area: on Flickr8K's dev photos such
    regions overlap people's boxes more often than the largest ones and than the longest vectors do.
    """
    regions = model.encode_regions(features, boxes)  # (n, N, D)
    lengths: NDArray[np.float32] = np.linalg.norm(regions, axis=-1)
    if model.weighs_regions:
        return lengths
    words = model.encode_texts(model.tokenizer.common_words(N_NAMING)).states[:, 0]  # (n_words, D)
    vectors = words / np.linalg.norm(words, axis=-1, keepdims=True).clip(TINY)
    best = (regions @ vectors.T).max(-1) / lengths.clip(TINY)  # (n, N)
    sides = np.sqrt((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]))
    saliences: NDArray[np.float32] = best * sides
    return saliences


def salient_boxes(model: Answering, features: ImageFeatures, boxes: Boxes, n: int, *, overlap: float = 0.4) -> Indices:
    """The n boxes of one image that people would talk about (`region_saliences`), the most salient first.

    Args:
        model: Any matcher that knows regions.
        features: Of one image, with its map.
        boxes: Candidates.
        n: How many; fewer where the others overlap those.
        overlap: The IoU above which two boxes show the same.
    """
    return best_boxes(region_saliences(model, features, boxes)[0], boxes, n, overlap=overlap)


def _bell(n: int, width: float) -> Floats:
    """A matrix that spreads a row of n numbers by a bell curve, with all of its weight inside: (n, n)."""
    if width == 0:
        return np.eye(n)
    places = np.arange(n)
    bell = np.exp(-0.5 * ((places[:, None] - places) / width) ** 2)
    spread: Floats = bell / bell.sum(axis=1, keepdims=True)
    return spread


TINY = 1e-12
