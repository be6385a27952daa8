"""Metrics of grounding: pointing, overlap of boxes, and retrieval of regions and phrases.

Boxes are left, top, right, bottom, points are x, y, all as fractions of the image's width and height. A phrase may have
several boxes ("three people"), a box several phrases. Shares are in percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, as_array, as_indices
from seesay.metrics._ranking import first_match_ranks
from seesay.metrics.retrieval import RankSummary, summarize_ranks

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

Several = Literal["any", "union"]


class GroundingReport(TypedDict):
    """Percent of the phrases that found their place."""

    pointing: float
    iou50: float


class RegionPhraseReport(TypedDict):
    """Phrases ranked for a region, and regions ranked for a phrase."""

    region_to_phrase: RankSummary
    phrase_to_region: RankSummary


def grounding_report(points: ArrayLike, predicted: ArrayLike, boxes: Sequence[ArrayLike]) -> GroundingReport:
    """The pointing game and box accuracy of the same phrases.

    Args:
        points: (n_phrases, 2) where the model points.
        predicted: (n_phrases, 4) the box that the model draws.
        boxes: For each phrase, its correct boxes, (n_boxes, 4).

    Example:
        >>> grounding_report([[0.2, 0.2]], [[0.1, 0.1, 0.5, 0.5]], [[[0.1, 0.1, 0.4, 0.4]]])
        {'pointing': 100.0, 'iou50': 100.0}
    """
    return {"pointing": pointing_game(points, boxes), "iou50": box_accuracy(predicted, boxes)}


def pointing_game(points: ArrayLike, boxes: Sequence[ArrayLike], *, margin: float = 0.0) -> float:
    """Percent of the phrases whose point lies in one of their boxes, its border included (Zhang et al. 2016).

    Args:
        points: (n_phrases, 2) where the model points; `peaks` gives them for maps.
        boxes: For each phrase, its correct boxes, (n_boxes, 4).
        margin: How far outside still counts, as a fraction of width and height. The original game allows 15 pixels.

    Example:
        >>> pointing_game([[0.2, 0.2], [0.9, 0.2]], [[[0.1, 0.1, 0.4, 0.4]], [[0, 0, 0.3, 1], [0.8, 0, 1, 1]]])
        100.0
    """
    if margin < 0:
        raise SeesayError(f"a margin of {margin}", allowed="0 or more")
    places = as_array(points, "points", "(n_phrases, 2)").astype(np.float64)
    if places.shape[1] != 2 or not np.isfinite(places).all():
        raise SeesayError(f"points of shape {places.shape}", allowed="(n_phrases, 2), numbers without NaN or inf")
    correct, phrases = _flatten(boxes, len(places))
    x, y = places[phrases].T
    left, top, right, bottom = correct.T
    inside = (x >= left - margin) & (x <= right + margin) & (y >= top - margin) & (y <= bottom + margin)
    return 100.0 * float(np.mean(np.bincount(phrases, inside) > 0))


def peaks(maps: ArrayLike) -> FloatArray:
    """Centre of the strongest cell of each map, as x, y fractions; the first one in reading order where several tie.

    Args:
        maps: (n_maps, height, width)

    Example:
        >>> peaks([[[0, 0, 0, 0], [0, 0, 3, 0]]])
        array([[0.625, 0.75 ]])
    """
    cells = as_array(maps, "maps", "(n_maps, height, width)")
    n_maps, height, width = cells.shape
    if height * width == 0:
        raise SeesayError(f"maps of {height} by {width} cells", allowed="one cell or more")
    if np.isnan(cells).any():
        raise SeesayError(f"map {np.argwhere(np.isnan(cells))[0][0]} holds NaN", allowed="numbers")
    row, column = np.divmod(cells.reshape(n_maps, -1).argmax(axis=1), width)
    return np.stack([(column + 0.5) / width, (row + 0.5) / height], axis=1)


def box_iou(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Intersection over union of every box in `first` with every box in `second`.

    A box without area overlaps nothing: its IoU is 0, with itself too.

    Args:
        first: (n, 4)
        second: (m, 4)

    Returns:
        (n, m)

    Raises:
        SeesayError: A box has its right side left of its left one, its bottom above its top, or holds NaN.

    Example:
        >>> box_iou([[0, 0, 0.5, 0.5]], [[0, 0, 0.5, 1], [0.5, 0.5, 1, 1]])
        array([[0.5, 0. ]])
    """
    return _iou(_as_boxes(first)[:, None], _as_boxes(second)[None])


def box_accuracy(
    predicted: ArrayLike, boxes: Sequence[ArrayLike], *, threshold: float = 0.5, several: Several = "any"
) -> float:
    """Percent of the phrases whose predicted box has an IoU of `threshold` or more with the correct one.

    Args:
        predicted: (n_phrases, 4)
        boxes: For each phrase, its correct boxes, (n_boxes, 4).
        threshold: Least IoU.
        several: With several correct boxes, `"any"` of them will do, or the box around all (`"union"`, the protocol of
            Flickr30k Entities) has to be met.

    Example:
        >>> two = [[0.0, 0.0, 0.4, 1.0], [0.6, 0.0, 1.0, 1.0]]
        >>> box_accuracy([[0, 0, 1, 1]], [two]), box_accuracy([[0, 0, 1, 1]], [two], several="union")
        (0.0, 100.0)
    """
    if several not in get_args(Several):
        raise SeesayError(f"there is no way {several!r} to judge several boxes", allowed=get_args(Several))
    if not 0 < threshold <= 1:
        raise SeesayError(f"a threshold of {threshold}", allowed="above 0, at most 1")
    guesses = _as_boxes(predicted)
    correct, phrases = _flatten(boxes, len(guesses))
    if several == "union":
        starts = np.flatnonzero(np.diff(phrases, prepend=-1))
        low = np.minimum.reduceat(correct[:, :2], starts)
        correct, phrases = np.hstack([low, np.maximum.reduceat(correct[:, 2:], starts)]), np.arange(len(guesses))
    hits = _iou(guesses[phrases], correct) >= threshold
    return 100.0 * float(np.mean(np.bincount(phrases, hits) > 0))


def region_phrase_report(scores: ArrayLike, correct: ArrayLike) -> RegionPhraseReport:
    """Ranking of phrases for regions, and of regions for phrases (HM-LSTM Table 4).

    A query is judged by the first of its correct answers, ties count against the model, and ranks start at 1, as in
    `retrieval`. Regions that no phrase names, and phrases without a region, are rivals but no queries.

    Args:
        scores: (n_regions, n_phrases), higher is a better match.
        correct: (n_pairs, 2) region and phrase of all pairs that belong together.

    Example:
        >>> report = region_phrase_report([[0.9, 0.8], [0.1, 0.7], [0.2, 0.8]], [[0, 0], [0, 1]])
        >>> report["region_to_phrase"]["r1"], report["phrase_to_region"]["median"]
        (100.0, 1.5)
    """
    matrix = as_array(scores, "scores", "(n_regions, n_phrases)")
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    pairs = as_array(correct, "correct", "(n_pairs, 2)")
    if pairs.shape[1] != 2 or not len(pairs):
        raise SeesayError(f"correct pairs of shape {pairs.shape}", allowed="(n_pairs, 2), one pair or more")
    regions = as_indices(pairs[:, 0], "the regions of correct", "(n_pairs,)", matrix.shape[0])
    phrases = as_indices(pairs[:, 1], "the phrases of correct", "(n_pairs,)", matrix.shape[1])
    of_regions, of_phrases = first_match_ranks(matrix, regions, phrases)
    return {
        "region_to_phrase": summarize_ranks(of_regions[of_regions >= 0]),
        "phrase_to_region": summarize_ranks(of_phrases[of_phrases >= 0]),
    }


def _iou(first: FloatArray, second: FloatArray) -> FloatArray:
    low, high = np.maximum(first[..., :2], second[..., :2]), np.minimum(first[..., 2:], second[..., 2:])
    shared = np.maximum(high - low, 0).prod(axis=-1)
    together = _area(first) + _area(second) - shared
    iou: FloatArray = np.divide(shared, together, out=np.zeros_like(together), where=together > 0)
    return iou


def _area(boxes: FloatArray) -> FloatArray:
    area: FloatArray = (boxes[..., 2:] - boxes[..., :2]).prod(axis=-1)
    return area


def _as_boxes(boxes: ArrayLike) -> FloatArray:
    array = as_array(boxes, "boxes", "(n_boxes, 4)").astype(np.float64)
    if array.shape[1] != 4:
        raise SeesayError(f"boxes of shape {array.shape}", allowed="(n_boxes, 4): left, top, right, bottom")
    wrong = np.flatnonzero(~((array[:, 2:] >= array[:, :2]).all(axis=1) & np.isfinite(array).all(axis=1)))
    if len(wrong):
        raise SeesayError(
            f"box {wrong[0]} is {array[wrong[0]].tolist()}",
            allowed="left, top, right, bottom with left <= right, top <= bottom",
        )
    return array


def _flatten(boxes: Sequence[ArrayLike], n_phrases: int) -> tuple[FloatArray, NDArray[Any]]:
    """All boxes of all phrases, and the phrase of each."""
    if len(boxes) != n_phrases or not n_phrases:
        raise SeesayError(f"the boxes of {len(boxes)} phrases for {n_phrases} answers", allowed="boxes for each answer")
    arrays = [_as_boxes(some) if len(some) else np.zeros((0, 4)) for some in boxes]
    n_boxes = np.array([len(some) for some in arrays])
    if n_boxes.min() == 0:
        raise SeesayError(
            f"phrase {n_boxes.argmin()} has no box",
            allowed="one box or more per phrase",
            hint="leave out phrases that name nothing visible",
        )
    return np.concatenate(arrays), np.repeat(np.arange(n_phrases), n_boxes)
