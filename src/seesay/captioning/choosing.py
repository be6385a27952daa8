"""Choosing k and m of consensus reranking on a dev split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray
from seesay.metrics.bleu import bleu
from seesay.metrics.sentences import References, Sentence

if TYPE_CHECKING:
    pass
from seesay.captioning.consensus import Metric, Similarities, _check, _flatten, oracle_scores

KS: Final = (5, 10, 20, 40, 60, 80, 100)
MS: Final = (5, 10, 25, 50, 75, 100, 125, 150, 175, 200, 250, 300)


@dataclass(frozen=True, eq=False)
class Choice:
    """The k and m of the best dev figure.

    Attributes:
        k: Neighbours.
        m: Captions that the mean is over.
        figure: What the chosen hypotheses reach with them.
        figures: (len(ks), len(ms)) what they reach with each.
    """

    k: int
    m: int
    figure: float
    ks: tuple[int, ...]
    ms: tuple[int, ...]
    figures: FloatArray


def choose_k_m(
    similarities: Similarities,
    hypotheses: Sequence[Sequence[Sentence]],
    references: Sequence[Sequence[Sentence]],
    *,
    metric: Metric = "cider",
    ks: Sequence[int] = KS,
    ms: Sequence[int] = MS,
) -> Choice:
    """Try every k and m on dev images; of equally good ones the smallest k, then the smallest m, is taken.

    Args:
        similarities: Of the hypotheses, with as many neighbours as the largest k.
        hypotheses: For each image, one sentence or more.
        references: The images' own captions.
        metric: What the best hypotheses are judged by: `"cider"`, their mean CIDEr-D, or `"bleu"`, their BLEU-4.
    """
    flat, counts = _flatten(hypotheses)
    if counts.tolist() != similarities.counts.tolist() or not counts.all():
        raise SeesayError(
            f"similarities of {similarities.counts.sum()} hypotheses, and {len(flat)} hypotheses",
            allowed="one hypothesis or more for each image, the ones that were compared",
        )
    packed = References(references)
    each = np.concatenate(oracle_scores(hypotheses, references)) if _check(metric) == "cider" else None
    figures = np.zeros((len(ks), len(ms)))
    for row, k in enumerate(ks):
        best = _first_best(similarities.means(ms, k), similarities.counts)  # (n_images, len(ms))
        for column, chosen in enumerate(best.T):
            if each is not None:
                figures[row, column] = each[chosen].mean()
            else:
                figures[row, column] = bleu([flat[place] for place in chosen], packed).corpus[3]
    best_row, best_column = divmod(int(figures.argmax()), len(ms))
    return Choice(ks[best_row], ms[best_column], float(figures.max()), tuple(ks), tuple(ms), figures)


def _first_best(scores: FloatArray, counts: IntArray) -> IntArray:
    """(n_images, n) the hypothesis of each image with the largest score, the first of several, in each column."""
    ends = np.cumsum(counts)
    places = [first + scores[first:last].argmax(0) for first, last in zip(ends - counts, ends, strict=True)]
    return np.stack(places)
