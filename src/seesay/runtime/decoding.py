"""Sentences out of a captioner's steps: greedy decoding, sampling and beam search, in NumPy.

The rules are those of `seesay.captioning`, which trains and evaluates on torch, and so are the sentences: the same
words for the same seed, from the same log-probabilities.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.runtime.random import uniform
from seesay.text.vocabulary import END, PAD, SPECIAL, START

FIRST = len(SPECIAL)  # the number of the first real word

Ints = NDArray[np.int64]
Floats = NDArray[Any]
State = tuple[NDArray[Any], ...]


class Stepper(Protocol):
    """What is asked of a model, such as a `seesay.runtime.matching.Model`."""

    def step(self, state: State, words: Ints) -> tuple[Floats, State]:
        """Read one word a row (n,), START first: finite log-probabilities (n, V) of the next word, and the state."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One sentence that a model might say: its words, their log-probability, and whether it ended by itself."""

    words: tuple[int, ...]
    log_prob: float
    finished: bool


@dataclass(frozen=True)
class Limits:
    """What holds for every sentence.

    Attributes:
        prefix: Numbers of the first words to continue from.
        min_length: A sentence does not end with fewer words than this.
        max_length: A sentence that has this many words without having ended is cut.
        no_repeat: No run of so many words is said twice, but for given words; 0 allows everything.
    """

    prefix: Sequence[int] = ()
    min_length: int = 1
    max_length: int = 30
    no_repeat: int = 0

    def __post_init__(self) -> None:
        if self.no_repeat < 0:
            raise SeesayError(f"no_repeat is {self.no_repeat}", allowed="1 or more words, or 0 for no such rule")
        if self.max_length < 1:
            raise SeesayError(f"max_length is {self.max_length}", allowed="1 or more")
        if not 1 <= self.min_length <= self.max_length:
            raise SeesayError(f"min_length is {self.min_length}", allowed=f"1 to max_length, {self.max_length}")
        if len(self.prefix) >= self.max_length:
            raise SeesayError(f"there are {len(self.prefix)} first words", allowed=f"fewer than {self.max_length}")
        if any(word < FIRST for word in self.prefix):
            raise SeesayError("the first words hold a word that the model does not know, or a sign that is no word")


def greedy(model: Stepper, state: State, limits: Limits | None = None) -> list[Hypothesis]:
    """Take the likeliest word again and again: one sentence for each row of the state."""
    limits = limits or Limits()

    def take_best(log_probs: Floats, rows: Ints, t: int) -> Ints:
        words: Ints = log_probs[:, FIRST:].argmax(1) + FIRST
        if t < limits.min_length:
            return words
        best = np.take_along_axis(log_probs, words[:, None], 1)[:, 0]
        return np.where(log_probs[:, END] >= best, END, words)

    return _walk(model, state, take_best, limits)


def sample(
    model: Stepper,
    state: State,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    seed: int = 0,
    n: int = 1,
    limits: Limits | None = None,
) -> list[list[Hypothesis]]:
    """Draw every word by its probability.

    Args:
        temperature: Below 1 likely words become likelier, above 1 less so. `log_prob` stays the model's own.
        top_k: Draw among this many likeliest words only; 0 takes all.
        seed: The same seed draws the same sentences.
        n: Sentences for each row.
    """
    if not temperature > 0:
        raise SeesayError(f"the temperature is {temperature}", allowed="a number above 0; small ones are nearly greedy")
    if top_k < 0:
        raise SeesayError(f"top_k is {top_k}", allowed="1 or more, or 0 for all words")
    if n < 1:
        raise SeesayError(f"n is {n}", allowed="1 or more sentences for each image")
    limits = limits or Limits()
    n_rows = len(state[0])
    noise = uniform(seed, n_rows * n * limits.max_length).reshape(n_rows * n, limits.max_length)

    def draw(log_probs: Floats, rows: Ints, t: int) -> Ints:
        open_to = np.concatenate([log_probs[:, END : END + 1], log_probs[:, FIRST:]], 1) / np.float32(temperature)
        if t < limits.min_length:
            open_to[:, 0] = -np.inf
        places = None
        if 0 < top_k < open_to.shape[1]:
            places = _largest(open_to, top_k)
            open_to = np.take_along_axis(open_to, places, 1)
        chances = np.exp(open_to.astype(np.float64) - open_to.max(1, keepdims=True))
        sums = (chances / chances.sum(1, keepdims=True)).cumsum(1)
        drawn = (sums <= noise[rows, t, None] * sums[:, -1:]).sum(1)
        place = drawn if places is None else np.take_along_axis(places, drawn[:, None], 1)[:, 0]
        return np.where(place == 0, END, place - 1 + FIRST)

    drawn = _walk(model, _pick(state, np.repeat(np.arange(n_rows), n)), draw, limits)
    return [drawn[start : start + n] for start in range(0, len(drawn), n)]


def _walk(
    model: Stepper, state: State, choose: Callable[[Floats, Ints, int], Ints], limits: Limits
) -> list[Hypothesis]:
    """Write one sentence for each row. `choose` takes log-probabilities, their rows and the step, and gives a word."""
    n = len(state[0])
    words = np.full((n, limits.max_length), PAD, np.int64)
    totals = np.zeros(n)
    lengths = np.full(n, limits.max_length)
    rows = np.arange(n)  # those that have not ended
    read = np.full(n, START, np.int64)
    for t in range(limits.max_length):
        if not len(rows):
            break
        log_probs, state = model.step(state, read)  # (n_rows, V)
        if t < len(limits.prefix):
            read = np.full(len(rows), limits.prefix[t], np.int64)
        else:
            read = choose(_without_repeats(log_probs, words[rows, :t], limits.no_repeat), rows, t)
        totals[rows] += np.take_along_axis(log_probs, read[:, None], 1)[:, 0]
        words[rows, t] = read
        has_ended = read == END
        if has_ended.any():
            lengths[rows[has_ended]] = t
            rows, read, state = rows[~has_ended], read[~has_ended], _pick(state, ~has_ended)
    return [
        Hypothesis(tuple(own[:length]), total, length < limits.max_length)
        for own, length, total in zip(words.tolist(), lengths.tolist(), totals.tolist(), strict=True)
    ]


def beam(
    model: Stepper,
    state: State,
    *,
    width: int = 10,
    n_best: int = 1,
    length_power: float = 0.0,
    limits: Limits | None = None,
) -> list[list[Hypothesis]]:
    """Follow the `width` best beginnings of every row at once, until nothing better can come.

    See `seesay.captioning.beam` for the rule by which slots are filled, and for the arguments.

    Returns:
        For each row its sentences, the finished ones before those that were cut, the best score first.
    """
    if width < 1:
        raise SeesayError(f"the width of the beam is {width}", allowed="1 or more")
    if not 1 <= n_best <= width:
        raise SeesayError(f"n_best is {n_best}", allowed=f"1 to the width of the beam, which is {width}")
    if not length_power >= 0:
        raise SeesayError(f"length_power is {length_power}", allowed="0 or more")
    limits = limits or Limits()
    n = len(state[0])
    ended: list[list[tuple[float, Hypothesis]]] = [[] for _ in range(n)]  # the best of each image with their scores
    to_beat = np.full(n, -np.inf)  # the score of the last that is kept, where all are
    images = np.arange(n)  # those whose search goes on
    scores = np.zeros((n, 1))  # (n, s) of each beginning; s is 1 until the beam opens, then width
    words = np.full((n, 1, limits.max_length), PAD, np.int64)
    read = np.full(n, START, np.int64)
    for t in range(limits.max_length):
        if not len(images):
            break
        log_probs, state = model.step(state, read)  # (n · s, V)
        n, s = scores.shape
        tops, choices, ends = _continue(log_probs, scores, words, t, width, limits)
        n_slots = 1 if t < len(limits.prefix) else width
        scores, places = _fill_slots(scores[:, :, None] + tops, n_slots)  # (n, n_slots)
        # An end is found where some slot that was open to it took something less likely.
        is_found = ends >= np.minimum.accumulate(scores[:, ::-1], 1)[:, ::-1][:, :s]
        merits = ends / max(t, 1) ** length_power  # (n, s)
        for place, slot in np.argwhere(is_found & (merits > to_beat[images][:, None])).tolist():
            image = int(images[place])
            sentence = Hypothesis(tuple(words[place, slot, :t].tolist()), float(ends[place, slot]), True)
            own = ended[image] = _best([*ended[image], (float(merits[place, slot]), sentence)], n_best)
            if len(own) == n_best:
                to_beat[image] = own[-1][0]
        parents = places // tops.shape[2]
        read = np.take_along_axis(choices.reshape(n, -1), places, 1)
        words = np.take_along_axis(words, parents[:, :, None], 1)
        words[:, :, t] = read
        # At best a beginning loses nothing more and becomes as long as may be.
        goes_on = scores.max(1) / limits.max_length**length_power > to_beat[images]
        rows = (np.arange(n)[:, None] * s + parents)[goes_on]  # (n, n_slots) into the state
        images, scores, words = images[goes_on], scores[goes_on], words[goes_on]
        state, read = _pick(state, rows.ravel()), read[goes_on].ravel()
    cut: list[list[tuple[float, Hypothesis]]] = [[] for _ in ended]
    for place, slot in np.argwhere(scores > -np.inf).tolist():
        sentence = Hypothesis(tuple(words[place, slot].tolist()), float(scores[place, slot]), False)
        cut[images[place]].append((sentence.log_prob, sentence))
    both = zip(ended, cut, strict=True)
    return [[sentence for _, sentence in (own + _best(unended, n_best))[:n_best]] for own, unended in both]


def _continue(
    log_probs: Floats, scores: Floats, words: Ints, t: int, width: int, limits: Limits
) -> tuple[Floats, Ints, Floats]:
    """The log-probabilities and numbers of the likeliest next words, (n, s, k) both, and the totals of ends (n, s)."""
    n, s = scores.shape
    ends = np.full((n, s), -np.inf)
    if t < len(limits.prefix):
        word = limits.prefix[t]
        return log_probs[:, word].reshape(n, s, 1).astype(np.float64), np.full((n, s, 1), word, np.int64), ends
    if t >= limits.min_length:
        ends = scores + log_probs[:, END].reshape(n, s)
    open_to = _without_repeats(log_probs, words[:, :, :t].reshape(n * s, t), limits.no_repeat)[:, FIRST:]
    choices = _largest(open_to, min(width, open_to.shape[1]))
    tops = np.take_along_axis(open_to, choices, 1)
    return tops.reshape(n, s, -1).astype(np.float64), choices.reshape(n, s, -1) + FIRST, ends


def _largest(values: Floats, k: int) -> Ints:
    """The places of the k largest of each row, the largest first: (n, m) → (n, k)."""
    found = (
        np.argpartition(-values, k - 1, 1)[:, :k] if k < values.shape[1] else np.arange(k)[None].repeat(len(values), 0)
    )
    order = np.argsort(-np.take_along_axis(values, found, 1), 1, kind="stable")
    return np.take_along_axis(found, order, 1)


def _best(sentences: list[tuple[float, Hypothesis]], n: int) -> list[tuple[float, Hypothesis]]:
    """The n of the largest scores, best first; of equal ones those that stood first."""
    return sorted(sentences, key=itemgetter(0), reverse=True)[:n]


def _fill_slots(totals: Floats, n_slots: int) -> tuple[Floats, Ints]:
    """Which continuation each slot takes: the best of the beginnings 0 … its own that no earlier slot has taken.

    Args:
        totals: (n, s, k) of the k best continuations of each beginning; taken ones are overwritten.

    Returns:
        Their totals (n, n_slots), minus infinity where nothing was left, and their places in s · k (n, n_slots).
    """
    n, _, k = totals.shape
    left = totals.reshape(n, -1)
    every = np.arange(n)
    scores, places = np.empty((n, n_slots)), np.empty((n, n_slots), np.int64)
    for slot in range(n_slots):
        taken = left[:, : (slot + 1) * k].argmax(1)
        scores[:, slot], places[:, slot] = left[every, taken], taken
        left[every, taken] = -np.inf
    return scores, places


def _without_repeats(log_probs: Floats, words: Ints, n: int) -> Floats:
    """Leave out, of the words that may come next (R, V), those that would end a run of n that was said: (R, t)."""
    if n == 0 or words.shape[1] < n:
        return log_probs
    said = np.lib.stride_tricks.sliding_window_view(words, n, 1)  # (R, t - n + 1, n)
    latest = words[:, words.shape[1] - n + 1 :][:, None]  # (R, 1, n - 1)
    rows, places = np.nonzero((said[:, :, :-1] == latest).all(2))
    log_probs = log_probs.copy()
    log_probs[rows, said[rows, places, -1]] = -np.inf
    return log_probs


def _pick(state: State, rows: NDArray[Any]) -> State:
    return tuple(part[rows] for part in state)
