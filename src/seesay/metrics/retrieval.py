"""Retrieval in both directions: recall at K, median and mean rank, and recall curves.

Scores are a matrix of images by texts, higher is better. `text_to_image[j]` is the image that text `j` describes; an
image may have several texts. `i2t` looks for sentences given an image and is judged by the first of its own sentences
that comes up; `t2i` looks for the image of a sentence.

Ties count against the model: a rank is the number of wrong answers that score at least as high as the best correct
one, so constant scores rank last. Ranks are 0-based in arrays and 1-based in reports. The median is the plain one: half
a rank is possible where the number of queries is even.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray, as_array, as_indices
from seesay.metrics._ranking import first_match_ranks, first_match_ranks_of_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seesay.metrics._arrays import ArrayLike


class RankSummary(TypedDict):
    """Recalls in percent; median and mean of the 1-based ranks."""

    r1: float
    r5: float
    r10: float
    median: float
    mean: float


class RetrievalReport(TypedDict):
    """Both directions, and the sum of their six recalls."""

    i2t: RankSummary
    t2i: RankSummary
    sum: float


@dataclass(frozen=True, slots=True)
class Ranks:
    """0-based rank of the first correct answer to each query."""

    i2t: IntArray  # (n_images,)
    t2i: IntArray  # (n_texts,)

    def report(self) -> RetrievalReport:
        """The figures that papers print."""
        i2t, t2i = summarize_ranks(self.i2t), summarize_ranks(self.t2i)
        total = sum(direction[recall] for direction in (i2t, t2i) for recall in ("r1", "r5", "r10"))
        return {"i2t": i2t, "t2i": t2i, "sum": total}


@dataclass(frozen=True, slots=True)
class RecallCurve:
    """How much of what is correct has come up after a part of all candidates was retrieved."""

    retrieved: FloatArray  # percent of the candidates
    recall: FloatArray  # percent of a query's correct answers among them, mean over queries
    matches: FloatArray  # number of a query's correct answers among them, mean over queries


def ranks(scores: ArrayLike, text_to_image: ArrayLike) -> Ranks:
    """Rank of the first correct answer to every image and every text.

    Args:
        scores: (n_images, n_texts), higher is a better match.
        text_to_image: (n_texts,) index of the image that each text describes.

    Raises:
        SeesayError: A score is NaN, an index is out of range, or an image has no text.

    Example:
        >>> ranks([[0.9, 0.2, 0.4], [0.9, 0.1, 0.3]], [0, 0, 1])
        Ranks(i2t=array([0, 1]), t2i=array([1, 0, 1]))
    """
    matrix = _as_scores(scores)
    owners = _as_owners(text_to_image, *matrix.shape)
    return Ranks(*first_match_ranks(matrix, owners, np.arange(len(owners))))


def ranks_from_blocks(
    score_block: Callable[[IntArray, IntArray], NDArray[Any] | Any],
    n_images: int,
    text_to_image: ArrayLike,
    *,
    block_size: int = 1024,
    on_progress: Callable[[int, int], None] | None = None,
) -> Ranks:
    """The same ranks, without the whole matrix ever being in memory.

    Args:
        score_block: Called with image indices and text indices, gives their scores, (n_given_images, n_given_texts).
            Pairs of a text and its own image are asked for twice.
        n_images: Number of images.
        text_to_image: (n_texts,) index of the image that each text describes.
        block_size: The most images, and the most texts, in a block.
        on_progress: Called with the number of images done and the number of all images.

    Example:
        >>> images, texts = np.eye(2), np.array([[0.9, 0.1], [0.3, 0.4], [0.2, 0.8]])
        >>> ranks_from_blocks(lambda i, t: images[i] @ texts[t].T, 2, [0, 0, 1], block_size=1)
        Ranks(i2t=array([0, 0]), t2i=array([0, 1, 0]))
    """
    if block_size < 1:
        raise SeesayError(f"a block of {block_size} images", allowed="1 or more")
    n_texts = len(as_array(text_to_image, "text_to_image", "(n_texts,)"))
    owners = _as_owners(text_to_image, n_images, n_texts)
    texts = np.arange(n_texts)
    return Ranks(*first_match_ranks_of_blocks(score_block, n_images, n_texts, owners, texts, block_size, on_progress))


def retrieval_report(scores: ArrayLike, text_to_image: ArrayLike) -> RetrievalReport:
    """R@1, R@5, R@10, median and mean rank in both directions, and the sum of the six recalls.

    Args:
        scores: (n_images, n_texts), higher is a better match.
        text_to_image: (n_texts,) index of the image that each text describes.

    Example:
        >>> report = retrieval_report([[0.9, 0.2, 0.4], [0.9, 0.1, 0.3]], [0, 0, 1])
        >>> report["i2t"]
        {'r1': 50.0, 'r5': 100.0, 'r10': 100.0, 'median': 1.5, 'mean': 1.5}
        >>> round(report["sum"], 1)
        483.3
    """
    return ranks(scores, text_to_image).report()


def summarize_ranks(ranks: IntArray) -> RankSummary:
    """Recalls in percent, median and mean of 0-based ranks.

    Example:
        >>> summarize_ranks(np.array([0, 0, 4, 12]))
        {'r1': 50.0, 'r5': 75.0, 'r10': 75.0, 'median': 3.0, 'mean': 5.0}
    """
    if not len(ranks):
        raise SeesayError("there is no query to rank", allowed="one image and one text, or more")
    r1, r5, r10 = (100.0 * float(np.mean(ranks < k)) for k in (1, 5, 10))
    return {"r1": r1, "r5": r5, "r10": r10, "median": float(np.median(ranks)) + 1, "mean": float(np.mean(ranks)) + 1}


def recall_curves(scores: ArrayLike, text_to_image: ArrayLike, *, n_points: int = 101) -> dict[str, RecallCurve]:
    """Recall against the part of the collection retrieved: m-RNN Figure 6.

    All correct answers count here, not only the first: an image with five sentences has a recall of 20 % when one of
    them has come up. Tied answers come up wrong ones first.

    Args:
        scores: (n_images, n_texts), higher is a better match.
        text_to_image: (n_texts,) index of the image that each text describes.
        n_points: Points from nothing retrieved to everything; a small collection has fewer.

    Returns:
        A curve for `"i2t"` and one for `"t2i"`.

    Example:
        >>> curve = recall_curves([[0.9, 0.2, 0.4], [0.9, 0.1, 0.3]], [0, 0, 1])["i2t"]
        >>> curve.retrieved.round(1).tolist(), curve.recall.tolist(), curve.matches.tolist()
        ([0.0, 33.3, 66.7, 100.0], [0.0, 25.0, 75.0, 100.0], [0.0, 0.5, 1.0, 1.5])
    """
    if n_points < 2:
        raise SeesayError(f"a curve of {n_points} points", allowed="2 or more")
    matrix = _as_scores(scores)
    n_images, n_texts = matrix.shape
    owners = _as_owners(text_to_image, n_images, n_texts)
    t2i = ranks(matrix, owners).t2i
    return {
        "i2t": _curve(_places_of_own_texts(matrix, owners), owners, n_images, n_texts, n_points),
        "t2i": _curve(t2i, np.arange(n_texts), n_texts, n_images, n_points),
    }


def _places_of_own_texts(scores: NDArray[Any], owners: IntArray) -> IntArray:
    """0-based place of every text in the list that its own image retrieves."""
    n_images, n_texts = scores.shape
    own = scores[owners, np.arange(n_texts)]
    order = np.lexsort((-own, owners))  # by image, best text first
    n_own = np.bincount(owners, minlength=n_images)
    places = np.empty(n_texts, np.int64)
    places[order] = np.arange(n_texts) - np.repeat(np.cumsum(n_own) - n_own, n_own)  # behind its image's own texts
    wrong = scores.copy()
    wrong[owners, np.arange(n_texts)] = np.nan  # compares false with everything
    for first in range(0, n_texts, 256):
        some = slice(first, first + 256)
        places[some] += np.count_nonzero(wrong[owners[some]] >= own[some, None], axis=1)
    return places


def _curve(places: IntArray, queries: IntArray, n_queries: int, n_candidates: int, n_points: int) -> RecallCurve:
    n_retrieved = np.unique(np.linspace(0, n_candidates, n_points).round().astype(np.int64))
    share = 1.0 / np.bincount(queries, minlength=n_queries)[queries]  # what one match adds to its query's recall
    order = np.argsort(places)
    n_matches = np.searchsorted(places[order], n_retrieved, side="left")
    recall = np.concatenate([[0.0], np.cumsum(share[order])])[n_matches]
    return RecallCurve(100.0 * n_retrieved / n_candidates, 100.0 * recall / n_queries, n_matches / n_queries)


def _as_scores(scores: ArrayLike) -> NDArray[Any]:
    matrix = as_array(scores, "scores", "(n_images, n_texts)")
    return matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)


def _as_owners(text_to_image: ArrayLike, n_images: int, n_texts: int) -> IntArray:
    owners = as_indices(text_to_image, "text_to_image", "(n_texts,)", n_images)
    if len(owners) != n_texts:
        raise SeesayError(f"text_to_image has {len(owners)} entries", allowed=f"one per text, {n_texts}")
    without = np.flatnonzero(np.bincount(owners, minlength=n_images) == 0)
    if len(without):
        raise SeesayError(
            f"image {without[0]} has no text" + (f", nor have {len(without) - 1} others" if len(without) > 1 else ""),
            allowed="one text per image, or more",
            hint="leave out the rows of images that nothing describes",
        )
    return owners
