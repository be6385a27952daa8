"""How many photos a later stage of search reranks, and how much it counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.settings.blend import Blend

KS = (20, 50, 100, 200)
WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))
AT = (1, 5, 10)

Scores = NDArray[np.float32]


def choose_blend(
    before: Scores, own: Scores, owners: NDArray[np.int64], after: Sequence[str]
) -> tuple[Blend, dict[str, float]]:
    """The k and weight with the best sum of R@1, R@5 and R@10 over a grid; of equal ones the fewest photos.

    Args:
        before: (n_texts, n_photos) scores of the stages before.
        own: The same of this stage's model.
        owners: (n_texts,) the photo that each sentence was written about.
        after: The weights of the stages before.

    Returns:
        The blend, and what search finds with it.
    """
    order = np.argsort(-before, axis=1)[:, : max(KS)]
    near, scores = np.take_along_axis(before, order, 1), np.take_along_axis(own, order, 1)
    # Equal spread and equal mean, so that a blend has the scale of a cosine and can be calibrated like one.
    slope = float(near.std() / scores.std())
    offset = float(near.mean() - slope * scores.mean())
    grid = [Blend(tuple(after), k, weight, round(slope, 4), round(offset, 4)) for k in KS for weight in WEIGHTS]
    found = [recalls(blend.blend(before, own), owners) for blend in grid]
    best = max(range(len(grid)), key=lambda place: sum(found[place].values()))
    return grid[best], found[best]


def recalls(scores: Scores, owners: NDArray[np.int64]) -> dict[str, float]:
    """R@1, R@5 and R@10 of the photo that each sentence was written about, in percent.

    Example:
        >>> recalls(np.array([[0.3, 0.9, 0.1], [0.2, 0.1, 0.6]], np.float32), np.array([1, 0]))
        {'R@1': 50.0, 'R@5': 100.0, 'R@10': 100.0}
    """
    ranks = ranks_of(scores, owners)
    return {f"R@{n}": round(100 * float((ranks < n).mean()), 1) for n in AT}


def ranks_of(scores: Scores, owners: NDArray[np.int64]) -> NDArray[Any]:
    """How many photos score better than a sentence's own: (n_texts,)."""
    own = scores[np.arange(len(owners)), owners][:, None]
    return np.asarray((scores > own).sum(1))
