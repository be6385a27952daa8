"""Which words speak of which part of a picture.

A word and a region fit as well as their vectors' inner product says (DVSA). Each word alone takes its best region. Read
together, neighbouring words of one phrase should take the same one: they are the variables of a chain Markov random
field (Karpathy & Fei-Fei 2015, section 3.1.4),

    E(a) = Σ_t v_{a_t} · s_t  +  β Σ_t [a_t = a_{t+1}]

whose largest E, the best assignment a of regions to words, is found exactly by dynamic programming. β, the coupling,
says how much two neighbours gain by agreeing: 0 leaves every word to itself, a large one gives all words one region.

Where exactly: every cell of the picture's feature map is a small region, so a word or a phrase has a heat map, whose
hottest place is pointed at. A box should hold what is hot and nothing else: the one that is drawn overlaps the heated
part of the picture best, as IoU counts it.

Words such as "a" and "is" have no place. They need not be variables of the chain: each goes with the phrase of the word
that it leads to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.features import Features
from seesay.images.regions import Boxes, region_weights, whole_and_grid
from seesay.metrics.grounding import box_iou, peaks
from seesay.models.aligner import Aligner

Scores = NDArray[np.float32] | NDArray[np.float64]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLUR = 1.0
"""Width of the bell, in cells, that heat is spread with before its hottest place is looked for; chosen on dev."""
FLOOR = -0.25
"""Where a place begins to be hot, in deviations from the mean of its map; chosen on dev."""
RAMP = 1.0
"""From there to where it is wholly hot, in deviations; chosen on dev."""
AREA_POWER = 0.6
"""What the area of a box counts for, to this power: 1 is IoU itself, less is kind to large boxes; chosen on dev."""
COUPLING = 0.1
"""What two neighbouring words gain by sharing a box, as a share of what a word gains by its own; chosen on dev."""
COMMON = 0.8
"""How much of what all words of a sentence have in common is taken off each before it is laid; chosen on dev."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring words that share a region: words [first, last), and what they score with it together.

    Attributes:
        n_laid: How many of the words were laid on it; the others only stand beside them.
    """

    first: int
    last: int
    region: int
    score: float
    n_laid: int

    @property
    def gain(self) -> float:
        """What a word that was laid scores on average."""
        return self.score / self.n_laid


def best_regions(scores: Scores) -> Indices:
    """The best region of every word, each for itself: (T, N) → (T,); the first one where several are equal.

    Example:
        >>> best_regions(np.array([[0.1, 0.9], [0.7, 0.2]])).tolist()
        [1, 0]
    """
    _check(scores)
    best: Indices = scores.argmax(axis=1)
    return best


def chain_regions(scores: Scores, coupling: float) -> Indices:
    """The regions that the words of a sentence take together: the largest E, exactly, in T · N steps.

    Args:
        scores: (T, N), how well each region suits each word.
        coupling: β, what two neighbouring words gain by taking the same region.

    Returns:
        (T,) the region of each word; of equally good assignments always the same one.

    Example:
        >>> scores = np.array([[3.0, 0.0], [1.0, 1.5], [2.0, 0.0]])
        >>> chain_regions(scores, 0.0).tolist(), chain_regions(scores, 0.5).tolist()
        ([0, 1, 0], [0, 0, 0])
    """
    _check(scores)
    if not coupling >= 0:
        raise SeesayError(f"a coupling of {coupling}", allowed="0 or more")
    n_words, n_regions = scores.shape
    regions = np.arange(n_regions)
    origin = np.empty((n_words, n_regions), np.intp)  # (T, N): the region of word t-1 on the best way to (t, i)
    best = scores[0].astype(np.float64)  # (N,): E of the best assignment up to word t that ends with each region
    for t in range(1, n_words):
        # A word comes from the best region of all, or stays with the one it has and gains the coupling.
        leader = int(best.argmax())
        stays = best + coupling >= best[leader]
        origin[t] = np.where(stays, regions, leader)
        best = scores[t] + np.where(stays, best + coupling, best[leader])
    assigned = np.empty(n_words, np.intp)
    assigned[-1] = best.argmax()
    for t in range(n_words - 1, 0, -1):
        assigned[t - 1] = origin[t, assigned[t]]
    return assigned


def energy(scores: Scores, assigned: Indices, coupling: float) -> float:
    """E of an assignment of regions to words.

    Example:
        >>> energy(np.array([[3.0, 0.0], [1.0, 1.5], [2.0, 0.0]]), np.array([0, 0, 0]), coupling=0.5)
        7.0
    """
    unary = scores[np.arange(len(scores)), assigned].sum()
    return float(unary + coupling * np.count_nonzero(assigned[1:] == assigned[:-1]))


def segments(scores: Scores, assigned: Indices) -> list[Segment]:
    """Runs of words with the same region, in the order of the sentence.

    Example:
        >>> scores = np.array([[3.0, 0.0], [1.0, 1.5], [2.0, 0.0]])
        >>> for part in segments(scores, np.array([0, 0, 1])):
        ...     print(part.first, part.last, part.region, part.score)
        0 2 0 4.0
        2 3 1 0.0
    """
    starts = [0, *(int(t) + 1 for t in np.flatnonzero(np.diff(assigned))), len(assigned)]
    return [
        Segment(first, last, int(assigned[first]), float(scores[first:last, assigned[first]].sum()), last - first)
        for first, last in pairwise(starts)
    ]


def phrase_scores(scores: Scores, spans: Sequence[tuple[int, int]]) -> Floats:
    """How well each region suits phrases: the sum over their words, (T, N) → (n_phrases, N).

    That is what E says of an assignment that gives all words of the phrase one region.

    Args:
        scores: (T, N) of the words of a sentence.
        spans: The half-open range of words of each phrase; an empty one scores 0 everywhere.

    Example:
        >>> phrase_scores(np.array([[3.0, 0.0], [1.0, 1.5], [2.0, 0.0]]), [(0, 2), (1, 3)]).tolist()
        [[4.0, 1.5], [3.0, 1.5]]
    """
    _check(scores)
    for first, last in spans:
        if not 0 <= first <= last <= len(scores):
            raise SeesayError(f"a phrase of the words {first} to {last}", allowed=f"between 0 and {len(scores)}")
    sums = np.concatenate([np.zeros((1, scores.shape[1])), scores.cumsum(axis=0, dtype=np.float64)])
    return np.array([sums[last] - sums[first] for first, last in spans]).reshape(len(spans), scores.shape[1])


@torch.inference_mode()
def heat_maps(model: Aligner, features: Features, vectors: Tensor) -> Floats:
    """How well each cell of one picture's feature map suits vectors of words or phrases: (n, D) → (n, h, w).

    Args:
        model: Any matcher that knows regions.
        features: Of one picture, with its map.
        vectors: Of words, or sums of such vectors for phrases.
    """
    if len(features) != 1 or features.map is None:
        raise ValueError(f"heat maps are of one picture with its map, not of {len(features)}")
    _, height, width, _ = features.map.shape
    cells = model.encode_regions(features, whole_and_grid(height, width)[1:])[0]  # (h · w, D)
    heat: Floats = (vectors @ cells.T).view(len(vectors), height, width).double().numpy()
    return heat


def point_at(heat: Scores, blur: float = BLUR) -> Floats:
    """The hottest place of each map as x, y fractions, after spreading its heat a little: (n, h, w) → (n, 2).

    Example:
        >>> point_at(np.array([[[0, 0, 0, 0], [0, 0, 3, 0]]])).tolist()
        [[0.625, 0.75]]
    """
    points: Floats = peaks(_bell(heat.shape[1], blur) @ heat @ _bell(heat.shape[2], blur).T)
    return points


def box_overlaps(
    heat: Scores, boxes: Boxes, *, floor: float = FLOOR, ramp: float = RAMP, area_power: float = AREA_POWER
) -> Floats:
    """How well each box fits the heated part of each map: (n, h, w), (N, 4) → (n, N), 0 to 1.

    Every place is hot to some degree p from 0 to 1. The overlap is Σ_inside p / (area + Σ_outside p): the IoU of the
    box and the hot places, if these are wholly hot and `area_power` is 1.

    Args:
        heat: Of words or phrases in one picture.
        boxes: Candidates in the same picture.
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
    deviation = np.maximum(flat.std(axis=1, keepdims=True), _TINY)
    hot = (((flat - flat.mean(axis=1, keepdims=True)) / deviation - floor) / ramp).clip(0, 1)  # (n, h · w)
    area = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).astype(np.float64)
    inside = (hot @ region_weights(boxes, height, width).T) * area  # (n, N)
    overlaps: Floats = inside / (area**area_power + hot.mean(axis=1, keepdims=True) - inside)
    return overlaps


def align_words(
    heat: Scores,
    boxes: Boxes,
    coupling: float = COUPLING,
    *,
    common: float = COMMON,
    laid: Sequence[bool] | None = None,
) -> list[Segment]:
    """Join the words of a sentence into phrases, each with the box that suits it in the picture.

    Every word has read its whole sentence and looks, besides its own place, at what the sentence is about. That part is
    the mean over words.

    Args:
        heat: (T, h, w), the heat map of each word.
        boxes: Candidates in the picture.
        coupling: What neighbours gain by sharing a box, in words: 1 is what a word gains by its best box on average.
        common: How much of the mean over words is taken off each.
        laid: Which words are laid on boxes (all): the others join the phrase of the next one that is, or of the last.

    Returns:
        Segments that cover the sentence, in its order. `region` is a row of `boxes`; a segment's score counts how much
        its words say about the place of something, the average word with its best box as 1.
    """
    speaks = heat.std(axis=(1, 2), keepdims=True) > 0  # some models leave words out, and these stay cold
    if speaks.sum() > 1:
        heat = heat - common * speaks * heat.sum(axis=0) / speaks.sum()
    # A word that is hot nowhere in particular should follow its neighbours: how much a map varies is what it says.
    gains = box_overlaps(heat, boxes) * heat.std(axis=(1, 2))[:, None]  # (T, N)
    places = np.flatnonzero(laid) if laid is not None and any(laid) else np.arange(len(heat))
    gains = gains[places]
    gains = gains / max(float(gains.max(axis=1).mean()), _TINY)
    found = segments(gains, chain_regions(gains, coupling))
    ends = [int(places[part.last - 1]) + 1 for part in found[:-1]] + [len(heat)]
    starts = [0, *ends[:-1]]
    return [replace(part, first=first, last=last) for part, first, last in zip(found, starts, ends, strict=True)]


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
    """The n boxes of one picture that people would talk about, the longest vectors first (DVSA supplement, section 1).

    Args:
        model: Any matcher that knows regions.
        features: Of one picture, with its map.
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


def _check(scores: Scores) -> None:
    if scores.ndim != 2 or 0 in scores.shape:
        raise SeesayError(f"scores of shape {scores.shape}", allowed="(n_words, n_regions), one of each or more")
    if not np.isfinite(scores).all():
        raise SeesayError("scores that are no numbers", allowed="numbers without NaN or inf")


_TINY = 1e-12
