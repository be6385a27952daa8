"""Where the first correct answer stands when a matrix of scores is read along its rows and along its columns.

The rank of a query is the number of wrong answers that score at least as high as its best correct one. Ties count
against the model: constant scores rank last, and scores that collapse to a few values cannot look good.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.metrics._arrays import IntArray, as_array

_ROWS_AT_ONCE = 256  # comparisons of this many rows and a few thousand columns stay in the processor's cache


def first_match_ranks(scores: NDArray[Any], rows: IntArray, columns: IntArray) -> tuple[IntArray, IntArray]:
    """0-based ranks of all rows and of all columns; `(rows[k], columns[k])` are the correct pairs.

    A row or column without a correct answer gets -1.
    """
    n_rows, n_columns = scores.shape
    counter = _Counter(n_rows, n_columns, rows, columns, scores[rows, columns])
    every_column = np.arange(n_columns)
    for block in _blocks(n_rows, _ROWS_AT_ONCE):
        counter.add(block, every_column, scores[block[0] : block[-1] + 1])
    return counter.ranks()


def first_match_ranks_of_blocks(
    score_block: Callable[[IntArray, IntArray], Any],
    n_rows: int,
    n_columns: int,
    rows: IntArray,
    columns: IntArray,
    block_size: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[IntArray, IntArray]:
    """Like `first_match_ranks`, asking for at most `block_size` rows and columns of scores at a time.

    The scores of the correct pairs are needed before anything can be counted. They are asked for first, in blocks of
    few rows, so that little is computed twice.
    """

    def scores_of(block: IntArray, other: IntArray) -> NDArray[Any]:
        scores = as_array(score_block(block, other), "a block of scores", "(n_rows, n_columns)")
        if scores.shape != (len(block), len(other)):
            raise SeesayError(f"a block of scores has the shape {scores.shape}", allowed=f"{len(block), len(other)}")
        return scores

    correct = np.empty(len(rows))
    by_row = np.argsort(rows, kind="stable")
    for few_rows in _blocks(n_rows, max(1, block_size // 16)):
        first, last = np.searchsorted(rows[by_row], [few_rows[0], few_rows[-1] + 1])
        for start in range(first, last, block_size):
            pairs = by_row[start : min(last, start + block_size)]
            own_columns, place = np.unique(columns[pairs], return_inverse=True)
            correct[pairs] = scores_of(few_rows, own_columns)[rows[pairs] - few_rows[0], place]
    counter = _Counter(n_rows, n_columns, rows, columns, correct)
    for block in _blocks(n_rows, block_size):
        for other in _blocks(n_columns, block_size):
            counter.add(block, other, scores_of(block, other))
        if on_progress:
            on_progress(int(block[-1]) + 1, n_rows)
    return counter.ranks()


class _Counter:
    """Counts, block by block, the wrong answers at or above the best correct one."""

    def __init__(
        self, n_rows: int, n_columns: int, rows: IntArray, columns: IntArray, correct: NDArray[np.floating]
    ) -> None:
        by_row = np.argsort(rows, kind="stable")
        self.rows, self.columns = rows[by_row], columns[by_row]
        self.best_of_row = _best(n_rows, rows, correct)
        self.best_of_column = _best(n_columns, columns, correct)
        self.above_row = np.zeros(n_rows, np.int64)
        self.above_column = np.zeros(n_columns, np.int64)

    def add(self, block: IntArray, other: IntArray, scores: NDArray[Any]) -> None:
        """Count `scores` of consecutive rows `block` and consecutive columns `other`."""
        if np.isnan(scores).any():
            row, column = np.argwhere(np.isnan(scores))[0]
            raise SeesayError(
                f"the score in row {block[row]}, column {other[column]} is NaN",
                allowed="numbers, -inf and inf included",
                hint="look for a division by zero or an overflow in the model that made the scores",
            )
        above_row = scores >= self.best_of_row[block, None]
        above_column = scores >= self.best_of_column[other]
        # A query's other correct answers are no rivals of its best one.
        pairs = slice(*np.searchsorted(self.rows, [block[0], block[-1] + 1]))
        rows, columns = self.rows[pairs] - block[0], self.columns[pairs] - other[0]
        here = (columns >= 0) & (columns < len(other))
        above_row[rows[here], columns[here]] = False
        above_column[rows[here], columns[here]] = False
        self.above_row[block] += np.count_nonzero(above_row, axis=1)
        self.above_column[other] += np.count_nonzero(above_column, axis=0)

    def ranks(self) -> tuple[IntArray, IntArray]:
        has_row = np.bincount(self.rows, minlength=len(self.above_row)) > 0
        has_column = np.bincount(self.columns, minlength=len(self.above_column)) > 0
        return np.where(has_row, self.above_row, -1), np.where(has_column, self.above_column, -1)


def _best(n: int, queries: IntArray, correct: NDArray[np.floating]) -> NDArray[np.floating]:
    best = np.full(n, -np.inf, correct.dtype)
    with np.errstate(invalid="ignore"):  # NaN is refused where its place is known
        np.maximum.at(best, queries, correct)
    return best


def _blocks(n: int, size: int) -> Iterator[IntArray]:
    for first in range(0, n, size):
        yield np.arange(first, min(n, first + size))
