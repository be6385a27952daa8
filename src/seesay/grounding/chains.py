"""Which words refer to which region of an image.

A word and a region fit as well as their vectors' inner product says (DVSA). Each word alone takes its best region. Read
together, neighbouring words of one phrase should take the same one: they are the variables of a chain Markov random
field (Karpathy & Fei-Fei 2015, section 3.1.4),

    E(a) = Σ_t v_{a_t} · s_t  +  β Σ_t [a_t = a_{t+1}]

whose largest E, the best assignment a of regions to words, is found exactly by dynamic programming. β, the coupling,
says how much two neighbours gain by agreeing: 0 leaves every word to itself, a large one gives all words one region.

Words such as "a" and "is" have no place. They need not be variables of the chain: each goes with the phrase of the word
that it leads to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from seesay.errors import SeesayError
from seesay.grounding.heat import DEFAULT, TINY, Floats, Indices, Scores, box_overlaps
from seesay.images.regions import Boxes
from seesay.settings.grounding import GroundingSettings


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring words that share a region: words [first, last), and what they score with it together.

    Attributes:
        n_grounded: How many of the words have chosen it; the others only join them.
    """

    first: int
    last: int
    region: int
    score: float
    n_grounded: int

    @property
    def gain(self) -> float:
        """What a word that has chosen the region scores on average."""
        return self.score / self.n_grounded


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


def align_words(
    heat: Scores,
    boxes: Boxes,
    coupling: float | None = None,
    *,
    common: float | None = None,
    grounded: Sequence[bool] | None = None,
    settings: GroundingSettings = DEFAULT,
) -> list[Segment]:
    """Join the words of a sentence into phrases, each with the box that suits it in the image.

    Every word has read its whole sentence and looks, besides its own place, at what the sentence is about. That part is
    the mean over words.

    Args:
        heat: (T, h, w), the heat map of each word.
        boxes: Candidates in the image.
        coupling: What neighbours gain by sharing a box, in words: 1 is what a word gains by its best box on average.
        common: How much of the mean over words is subtracted from each.
        grounded: Which words choose a box (all). The others join the phrase of the next one that does, or of the last.
        settings: How boxes fit heat; its coupling and common hold where these are not given.

    Returns:
        Segments that cover the sentence, in its order. `region` is a row of `boxes`; a segment's score counts how much
        its words say about the place of something, the average word with its best box as 1.
    """
    coupling = settings.coupling if coupling is None else coupling
    common = settings.common if common is None else common
    speaks = heat.std(axis=(1, 2), keepdims=True) > 0  # some models leave words out, and these stay cold
    if speaks.sum() > 1:
        heat = heat - common * speaks * heat.sum(axis=0) / speaks.sum()
    # A word that is hot nowhere in particular should follow its neighbours: how much a map varies is what it says.
    gains = box_overlaps(heat, boxes, **settings.rule) * heat.std(axis=(1, 2))[:, None]  # (T, N)
    places = np.flatnonzero(grounded) if grounded is not None and any(grounded) else np.arange(len(heat))
    gains = gains[places]
    gains = gains / max(float(gains.max(axis=1).mean()), TINY)
    found = segments(gains, chain_regions(gains, coupling))
    ends = [int(places[part.last - 1]) + 1 for part in found[:-1]] + [len(heat)]
    starts = [0, *ends[:-1]]
    return [replace(part, first=first, last=last) for part, first, last in zip(found, starts, ends, strict=True)]


def _check(scores: Scores) -> None:
    if scores.ndim != 2 or 0 in scores.shape:
        raise SeesayError(f"scores of shape {scores.shape}", allowed="(n_words, n_regions), one of each or more")
    if not np.isfinite(scores).all():
        raise SeesayError("scores that are no numbers", allowed="numbers without NaN or inf")
