"""Beam search: the best sentences of a model that gives every next word a probability.

A beam keeps the `width` best beginnings. Which of them survive a step is decided slot by slot: slot j takes the best
continuation of the beginnings 0 … j that no earlier slot has taken (Lemons et al., ICAPS 2022, "Beam search: faster and
monotonic"). What a narrow beam finds, a wider one finds too, so a wider beam never returns a worse best sentence, which
the plain choice of the best `width` among all continuations does not promise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from seesay.captioning.steps import (
    Floats,
    Hypothesis,
    Ints,
    Prefix,
    State,
    Stepper,
    pick,
    read_prefix,
    top_words,
    without_repeats,
)
from seesay.errors import SeesayError
from seesay.text.vocabulary import END, PAD, START


@dataclass(frozen=True)
class Way:
    """What a search keeps, and what it calls best.

    Attributes:
        width: Beginnings that are kept at each step.
        n_best: Sentences to return for each row, at most `width`.
        min_length: As for `greedy`.
        length_power: 0 takes the likeliest sentences, which are short; 1 the likeliest per word.
    """

    width: int = 10
    n_best: int = 1
    min_length: int = 1
    length_power: float = 0.0

    def __post_init__(self) -> None:
        if self.width < 1:
            raise SeesayError(f"the width of the beam is {self.width}", allowed="1 or more")
        if not 1 <= self.n_best <= self.width:
            raise SeesayError(f"n_best is {self.n_best}", allowed=f"1 to the width of the beam, which is {self.width}")
        if not self.length_power >= 0:
            raise SeesayError(f"length_power is {self.length_power}", allowed="0 or more")


def beam(
    model: Stepper,
    state: State,
    *,
    width: int = 10,
    n_best: int = 1,
    prefix: Prefix = (),
    min_length: int = 1,
    max_length: int = 30,
    length_power: float = 0.0,
    no_repeat: int = 0,
) -> list[list[Hypothesis]]:
    """Follow the `width` best beginnings of every row at once, until nothing better can come.

    A sentence's score is its `log_prob` divided by its number of words to the power of `length_power`. The search for a
    row stops as soon as no beginning can still become better than the worst of `n_best` finished sentences. With width
    1 and length power 0 it gives what `greedy` gives.

    Args:
        model: Gives the probabilities.
        state: Before the first word, one row for each image.
        width: See `Way`, as for `n_best`, `min_length` and `length_power`.
        prefix: As for `greedy`.
        max_length: As for `greedy`.
        no_repeat: As for `greedy`.

    Returns:
        For each row its sentences, the finished ones before those that were cut, the best score first.
    """
    way = Way(width, n_best, min_length, length_power)
    return beams(model, state, [way], prefix=prefix, max_length=max_length, no_repeat=no_repeat)[0]


def beams(
    model: Stepper,
    state: State,
    ways: Sequence[Way],
    *,
    prefix: Prefix = (),
    max_length: int = 30,
    no_repeat: int = 0,
) -> list[list[list[Hypothesis]]]:
    """What `beam` gives in each of several ways, by one search.

    The first slots of a wide beam hold what a narrow beam holds, and which beginnings survive depends neither on the
    sentences that have ended nor on their scores. So the widest beam is followed once, and each way keeps its own ended
    sentences of its own slots.

    Returns:
        For each way what `beam` returns.
    """
    n, width = len(state[0]), max(way.width for way in ways)
    for way in ways:
        given, n_given = read_prefix(prefix, n, way.min_length, max_length, no_repeat)
    own = [_Kept(way, n, max_length) for way in ways]
    images = np.arange(n)  # those whose search goes on
    scores = np.zeros((n, 1))  # (n, s) of each beginning; s is 1 until the beam opens, then width
    words = np.full((n, 1, max_length), PAD, np.int64)
    read = np.full(n, START, np.int64)
    for t in range(max_length):
        if not len(images):
            break
        log_probs, state = model.step(state, read)  # (n · s, V)
        n, s = scores.shape
        is_given = t < n_given[images]
        open_to = without_repeats(log_probs, words[:, :, :t].reshape(n * s, t), no_repeat)
        tops, choices = (part.reshape(n, s, -1) for part in top_words(open_to, width))  # (n, s, k)
        ends = scores + log_probs[:, END].reshape(n, s)
        if is_given.any():
            # Nothing but the given word follows, and slot 0 is the only one that such a row has.
            next_words = given[images[is_given], t]
            tops[is_given] = ends[is_given] = -np.inf
            tops[is_given, 0, 0] = log_probs.reshape(n, s, -1)[is_given, 0, next_words]
            choices[is_given, 0, 0] = next_words
        n_slots = 1 if s == 1 and is_given.all() else width
        scores, places = _fill_slots(scores[:, :, None] + tops, n_slots)  # (n, n_slots)
        for kept in own:
            kept.take_ends(t, images, ends, scores, words)
        parents = places // tops.shape[2]
        read = np.take_along_axis(choices.reshape(n, -1), places, 1)
        words = np.take_along_axis(words, parents[:, :, None], 1)
        words[:, :, t] = read
        goes_on = np.logical_or.reduce([kept.goes_on(images, scores) for kept in own])
        rows = (np.arange(n)[:, None] * s + parents)[goes_on]  # (n, n_slots) into the state
        images, scores, words = images[goes_on], scores[goes_on], words[goes_on]
        state, read = pick(state, rows.ravel()), read[goes_on].ravel()
    return [kept.all_sentences(images, scores, words) for kept in own]


class _Kept:
    """The sentences that one way keeps of a search over n images."""

    def __init__(self, way: Way, n: int, max_length: int) -> None:
        self.way, self.max_length = way, max_length
        self.ended: list[list[tuple[float, Hypothesis]]] = [[] for _ in range(n)]  # the best of each with their scores
        self.to_beat = np.full(n, -np.inf)  # the score of the last that is kept, where all are
        self.is_open = np.ones(n, bool)

    def take_ends(self, t: int, images: Ints, ends: Floats, scores: Floats, words: Ints) -> None:
        """Keep the sentences of t words that end here.

        Args:
            images: (n,) whose rows these are.
            ends: (n, s) log-probability of each beginning with its end.
            scores: (n, n_slots) of the beginnings that take their places.
            words: (n, s, max_length) of each beginning.
        """
        if t < self.way.min_length:
            return
        ends, scores = ends[:, : self.way.width], scores[:, : self.way.width]
        # An end is found where some slot that was open to it took something less likely.
        is_found = ends >= np.minimum.accumulate(scores[:, ::-1], 1)[:, ::-1][:, : ends.shape[1]]
        merits = ends / max(t, 1) ** self.way.length_power  # (n, s)
        is_kept = is_found & (merits > self.to_beat[images][:, None]) & self.is_open[images][:, None]
        for place, slot in np.argwhere(is_kept).tolist():
            image = int(images[place])
            sentence = Hypothesis(tuple(words[place, slot, :t].tolist()), float(ends[place, slot]), finished=True)
            own = _best([*self.ended[image], (float(merits[place, slot]), sentence)], self.way.n_best)
            self.ended[image] = own
            if len(own) == self.way.n_best:
                self.to_beat[image] = own[-1][0]

    def goes_on(self, images: Ints, scores: Floats) -> NDArray[np.bool_]:
        """Where a beginning can still become better than what is kept, and always could until here: (n,)."""
        # At best a beginning loses nothing more and becomes as long as may be.
        best = scores[:, : self.way.width].max(1) / self.max_length**self.way.length_power
        self.is_open[images] &= best > self.to_beat[images]
        found: NDArray[np.bool_] = self.is_open[images]
        return found

    def all_sentences(self, images: Ints, scores: Floats, words: Ints) -> list[list[Hypothesis]]:
        """The kept sentences of each image, and behind them those that were cut where the search ended."""
        cut: list[list[tuple[float, Hypothesis]]] = [[] for _ in self.ended]
        is_cut = (scores[:, : self.way.width] > -np.inf) & self.is_open[images][:, None]
        for place, slot in np.argwhere(is_cut).tolist():
            sentence = Hypothesis(tuple(words[place, slot].tolist()), float(scores[place, slot]), finished=False)
            cut[images[place]].append((sentence.log_prob, sentence))
        n_best, both = self.way.n_best, zip(self.ended, cut, strict=True)
        return [[sentence for _, sentence in (own + _best(unended, n_best))[:n_best]] for own, unended in both]


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
