"""One rule for choices on dev: the present value stays, unless another is better by more than chance."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

Value = TypeVar("Value", bound=Hashable)
N_ERRORS = 2.0
"""Standard errors of a paired difference by which another value has to be better than the present one."""


def choose(gains: Mapping[Value, ArrayLike], present: Value | None = None) -> Value:
    """The value with the largest mean gain; the present one where that is no better by more than chance.

    Args:
        gains: For every value what each example gains by it, in the same order; of equal values the first wins.
        present: The value that is in use.

    Example:
        >>> choose({0.5: [1, 0, 1, 0], 1.0: [1, 1, 1, 0]}, present=0.5)  # one of four: that may be chance
        0.5
        >>> choose({0.5: [0, 1] * 200, 1.0: [1, 1] * 200}, present=0.5)
        1.0
    """
    arrays = {value: np.asarray(each, np.float64) for value, each in gains.items()}
    best = max(arrays, key=lambda value: float(arrays[value].mean()))
    if present is None or present not in arrays:
        return best
    difference = arrays[best] - arrays[present]
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return best if float(difference.mean()) > N_ERRORS * error else present
