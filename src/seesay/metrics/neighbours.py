"""Nearest vectors by cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray, as_array

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

_CELLS_AT_ONCE = 1 << 23  # of a block of cosines: 32 MB


def nearest(queries: ArrayLike, bank: ArrayLike, k: int) -> IntArray:
    """The k vectors of a bank that are nearest to each query by cosine.

    Args:
        queries: (n, D).
        bank: (N, D).
        k: How many; all there are where the bank is smaller.

    Returns:
        (n, min(k, N)) indices into the bank, the nearest first.

    Example:
        >>> nearest([[1.0, 0.0]], [[0.0, 1.0], [3.0, 1.0], [5.0, 0.0]], k=2)
        array([[2, 1]])
    """
    first, second = _directions(queries, "queries", "(n, D)"), _directions(bank, "bank", "(N, D)")
    if first.shape[1] != second.shape[1]:
        raise SeesayError(f"queries of {first.shape[1]} numbers and a bank of {second.shape[1]}", allowed="the same")
    if k < 1:
        raise SeesayError(f"k is {k}", allowed="a whole number from 1 upwards")
    k = min(k, len(second))
    n_at_once = max(1, _CELLS_AT_ONCE // max(1, len(second)))
    found = np.empty((len(first), k), np.int64)
    for start in range(0, len(first) if k else 0, n_at_once):
        distances = -(first[start : start + n_at_once] @ second.T)  # (n_at_once, N)
        best = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k])  # in the bank's order, as a tie keeps it
        order = np.argsort(np.take_along_axis(distances, best, 1), axis=1, kind="stable")
        found[start : start + n_at_once] = np.take_along_axis(best, order, 1)
    return found


def cosines(queries: ArrayLike, bank: ArrayLike) -> FloatArray:
    """Cosine of each query with each vector of a bank: (n, N); 0 for a vector of zeros."""
    return (_directions(queries, "queries", "(n, D)") @ _directions(bank, "bank", "(N, D)").T).astype(np.float64)


def _directions(vectors: ArrayLike, name: str, shape: str) -> NDArray[np.float32]:
    """The vectors at unit length."""
    rows = as_array(vectors, name, shape).astype(np.float32)
    if not np.isfinite(rows).all():
        raise SeesayError(f"{name} hold a number that is not finite", allowed="finite numbers")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows
