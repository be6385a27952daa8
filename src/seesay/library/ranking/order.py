"""The order of photos by their cosines with a query, with scores and the words for them."""

from collections.abc import Mapping, Sequence

import numpy as np

from seesay.library.ranking.calibration import Calibration, word_for
from seesay.library.ranking.query import Query
from seesay.library.types import Hit

Ranked = list[tuple[float, str | None, Hit]]
"""Hits with score and word, best first."""


def rank(
    hits: Sequence[Hit],
    query: Query,
    bonuses: Sequence[Sequence[Mapping[int, float]]],
    calibration: Calibration | None,
) -> Ranked:
    """Hits by their cosines and by bonuses, of each of which there is one for each sentence."""
    if not hits:
        return []
    vectors = np.stack([hit.vector for hit in hits])  # (n, D)
    cosines = [vectors @ sentence.vector for sentence in query.sentences]
    for bonus in bonuses:
        for cosine, added in zip(cosines, bonus, strict=True):
            cosine += [added.get(hit.photos[0].content, 0.0) for hit in hits]
    fits, unlike = cosines[: len(query.fits)], cosines[len(query.fits) :]
    probable = calibration is not None and not query.like
    if calibration is not None and probable:
        scores = np.prod(
            [calibration.probability(cosine, s.n_words, s.rarest) for cosine, s in zip(fits, query.fits, strict=True)],
            axis=0,
        )
    else:
        similar = [vectors @ vector for vector in query.like]
        # The length of the sum of unit vectors is what makes it a cosine again.
        length = float(np.linalg.norm(np.sum([*(s.vector for s in query.fits), *query.like], axis=0)))
        scores = np.sum([*fits, *similar], axis=0).astype(np.float64) / max(length, 1.0)
    for cosine, sentence in zip(unlike, query.unlike, strict=True):
        if calibration is None:
            scores = scores - np.maximum(cosine, 0)
        else:
            scores = scores * (1 - calibration.probability(cosine, sentence.n_words, sentence.rarest))
    order = np.argsort(-scores, kind="stable")
    return [(float(scores[row]), word_for(float(scores[row])) if probable else None, hits[row]) for row in order]
