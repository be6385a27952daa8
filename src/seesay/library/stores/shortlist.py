"""The best of many scores that are known nearly, in their exact order."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seesay.library.types import Vector

Places = NDArray[np.int64]
Exact = Callable[[Places], Vector]
"""Gives the exact scores at places; not a number where there is none any more."""

_FIRST = 192
"""Places that are scored exactly at least: enough to tell how large the errors are."""
_MARGIN = 6.0
"""Standard errors by which a score that was not looked at would have to be wrong to be missed."""
_ROWS = 64


class DisagreeError(Exception):
    """Scores that should be nearly exact are not."""


def best_places(scores: Vector, n: int) -> Places:
    """Places of the n highest, highest first; equal ones in their order.

    Example:
        >>> best_places(np.array([0.1, 0.7, 0.3, 0.7], np.float32), 3).tolist()
        [1, 3, 2]
    """
    n_columns = len(scores) // _ROWS
    if n >= len(scores):
        places = np.arange(len(scores))
    else:
        # As many columns as are wanted reach the n-th highest of their maxima, and so do as many scores at least.
        few = n <= n_columns
        highest = scores[: _ROWS * n_columns].reshape(_ROWS, n_columns).max(0) if few else scores
        places = np.flatnonzero(scores >= np.partition(highest, len(highest) - n)[len(highest) - n])
    return places[np.lexsort((places, -scores[places]))][:n]


def exact_best(scores: Vector, n: int, exact: Exact, tolerance: float, *, nearly: bool) -> tuple[Places, Vector]:
    """The n highest by their exact scores, highest first, with these.

    Args:
        scores: (N,) as they are known.
        exact: Asked for as few places as will do.
        tolerance: By which a score may be wrong.
        nearly: Whether scores are wrong by more than rounding, so that the order may be another one.

    Raises:
        DisagreeError: A score is wrong by more.
    """
    n = min(n, len(scores))
    n_asked = min(len(scores), max(_FIRST, 2 * n)) if nearly else n
    while True:
        places = best_places(scores, n_asked)
        found = exact(places)
        there = np.isfinite(found)
        errors = found[there] - scores[places[there]]
        if (np.abs(errors) >= tolerance).any():
            raise DisagreeError
        order = np.lexsort((places[there], -found[there]))[:n]
        if not nearly or n_asked == len(scores) or not len(order):
            break
        floor = found[there][order[-1]] - _MARGIN * float(np.sqrt(np.mean(errors**2)))
        if len(order) == n and scores[places[-1]] < floor:
            break  # what was not looked at cannot be among them
        n_more = max(int((scores >= floor).sum()), n_asked + n_asked // 8)
        n_asked = min(len(scores), n_more + 16)
    return places[there][order], found[there][order]
