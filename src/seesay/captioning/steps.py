"""What all ways of decoding share: the model's steps, hypotheses, given first words and what may come next.

Everything is NumPy: a model steps in torch or in a graph, and the search over its steps is the same one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.text.vocabulary import PAD, SPECIAL

FIRST = len(SPECIAL)  # the number of the first real word

Ints = NDArray[np.int64]
Floats = NDArray[Any]
State = tuple[NDArray[Any], ...]
"""What a model remembers between words: at least one array, each with one row per sentence in its first dimension."""
Prefix = Sequence[int] | Sequence[Sequence[int]]

_GROUPS = 256
"""Columns that stand for all others where the largest are looked for: more are slower, and so are fewer."""


class Stepper(Protocol):
    """What is asked of a model, such as a `seesay.runtime.matching.Model`."""

    def step(self, state: State, words: Ints) -> tuple[Floats, State]:
        """Read one word a row (n,), START first: finite log-probabilities (n, V) of the next word, and the state."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One sentence that a model might say.

    Attributes:
        words: Their numbers, without the start and the end sign; given first words are among them.
        log_prob: Natural logarithm of the model's own probability of the words, and of the end where it ended.
        finished: Whether it ended by itself; otherwise it was cut at the maximum length.
    """

    words: tuple[int, ...]
    log_prob: float
    finished: bool


def top_words(log_probs: Floats, k: int) -> tuple[Floats, Ints]:
    """The k likeliest real words of each row and their log-probabilities: (n, k) each, best first."""
    open_to = log_probs[:, FIRST:]
    places = largest(open_to, min(k, open_to.shape[1]))
    return np.take_along_axis(open_to, places, 1), places + FIRST


def largest(values: Floats, k: int) -> Ints:
    """The places of the k largest of each row, the largest first, of equal ones the first: (n, m) → (n, k).

    The largest of every group of columns are few. The k-th largest of them is reached by at least k values of the row,
    and by few more: these are sorted, and the rest of the row is only compared.

    Example:
        >>> largest(np.array([[0.1, 0.4, 0.2, 0.4]]), 3).tolist()
        [[1, 3, 2]]
    """
    n, m = values.shape
    if k == 1:
        first: Ints = values.argmax(1)[:, None]
        return first
    n_groups = max(_GROUPS, 8 * k)
    if m < 2 * n_groups:
        return np.argsort(-values, 1, kind="stable")[:, :k]
    size = m // n_groups
    groups = values[:, : size * n_groups].reshape(n, size, n_groups).max(1)
    reached = np.partition(groups, n_groups - k, 1)[:, n_groups - k]
    rows, places = np.divmod(np.flatnonzero(values >= reached[:, None]), m)
    order = np.lexsort((places, -values[rows, places], rows))
    firsts = np.searchsorted(rows, np.arange(n))
    found: Ints = places[order[firsts[:, None] + np.arange(k)]]
    return found


def without_repeats(log_probs: Floats, words: Ints, n: int) -> Floats:
    """Leave out, of the words that may come next (R, V), those that would end a run of n that was said: (R, t)."""
    if n == 0 or words.shape[1] < n:
        return log_probs
    said = np.lib.stride_tricks.sliding_window_view(words, n, 1)  # (R, t - n + 1, n)
    latest = words[:, words.shape[1] - n + 1 :][:, None]  # (R, 1, n - 1)
    rows, places = np.nonzero((said[:, :, :-1] == latest).all(2))
    log_probs = log_probs.copy()
    log_probs[rows, said[rows, places, -1]] = -np.inf
    return log_probs


def pick(state: State, rows: NDArray[Any]) -> State:
    return tuple(part[rows] for part in state)


def read_prefix(prefix: Prefix, n: int, min_length: int, max_length: int, no_repeat: int) -> tuple[Ints, Ints]:
    """The given first words of each row, padded (n, P), and how many each has (n,); the limits are checked too."""
    if no_repeat < 0:
        raise SeesayError(f"no_repeat is {no_repeat}", allowed="1 or more words, or 0 for no such rule")
    if max_length < 1:
        raise SeesayError(f"max_length is {max_length}", allowed="1 or more")
    if not 1 <= min_length <= max_length:
        raise SeesayError(f"min_length is {min_length}", allowed=f"1 to max_length, which is {max_length}")
    each = [row for row in prefix if not isinstance(row, int)]
    rows = each or [[word for word in prefix if isinstance(word, int)]] * n
    if len(rows) != n or (each and len(each) != len(prefix)):
        raise SeesayError(f"there are first words for {len(rows)} rows, and {n} rows", allowed="one sequence, or n")
    longest = max(map(len, rows), default=0)
    if longest >= max_length:
        raise SeesayError(f"there are {longest} first words", allowed=f"fewer than max_length, which is {max_length}")
    if any(word < FIRST for row in rows for word in row):
        raise SeesayError("the first words hold a word that the model does not know, or a sign that is no word")
    given = np.array([[*row, *[PAD] * (longest - len(row))] for row in rows], np.int64)
    return given.reshape(n, longest), np.array([len(row) for row in rows], np.int64)
