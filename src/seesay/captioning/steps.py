"""What all ways of decoding share: the model's steps, hypotheses, given first words and what may come next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.models.base import State
from seesay.text.vocabulary import PAD, SPECIAL

FIRST = len(SPECIAL)  # the number of the first real word


class Stepper(Protocol):
    """What is asked of a model, such as a `seesay.models.base.Captioner`.

    A state is a tuple of at least one tensor, each with one row per sentence in its first dimension.
    """

    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
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


Prefix = Sequence[int] | Sequence[Sequence[int]]


def top_words(log_probs: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k likeliest real words of each row and their log-probabilities: (n, k) each, best first."""
    values, places = log_probs[:, FIRST:].topk(min(k, log_probs.shape[1] - FIRST), 1)
    return values, places + FIRST


def without_repeats(log_probs: Tensor, words: Tensor, n: int) -> Tensor:
    """Leave out, of the words that may come next (R, V), those that would end a run of n that was said: (R, t)."""
    if n == 0 or words.shape[1] < n:
        return log_probs
    said = words.unfold(1, n, 1)  # (R, t - n + 1, n)
    latest = words[:, words.shape[1] - n + 1 :].unsqueeze(1)  # (R, 1, n - 1)
    rows, places = (said[:, :, :-1] == latest).all(2).nonzero(as_tuple=True)
    log_probs = log_probs.clone()
    log_probs[rows, said[rows, places, -1]] = -torch.inf
    return log_probs


def pick(state: State, rows: Tensor) -> State:
    return tuple(part[rows] for part in state)


def read_prefix(prefix: Prefix, n: int, min_length: int, max_length: int, no_repeat: int) -> tuple[Tensor, Tensor]:
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
    given = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.long)
    return given.reshape(n, longest), torch.tensor([len(row) for row in rows], dtype=torch.long)
