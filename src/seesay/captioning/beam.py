"""Beam search: the best sentences of a model that gives every next word a probability.

A beam keeps the `width` best beginnings. Which of them survive a step is decided slot by slot: slot j takes the best
continuation of the beginnings 0 … j that no earlier slot has taken (Lemons et al., ICAPS 2022, "Beam search: faster and
monotonic"). What a narrow beam finds, a wider one finds too, so a wider beam never returns a worse best sentence, which
the plain choice of the best `width` among all continuations does not promise.
"""

from operator import itemgetter

import numpy as np

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
        width: Beginnings that are kept at each step.
        n_best: Sentences to return for each row, at most `width`.
        prefix: As for `greedy`.
        min_length: As for `greedy`.
        max_length: As for `greedy`.
        length_power: 0 takes the likeliest sentences, which are short; 1 the likeliest per word.
        no_repeat: As for `greedy`.

    Returns:
        For each row its sentences, the finished ones before those that were cut, the best score first.
    """
    if width < 1:
        raise SeesayError(f"the width of the beam is {width}", allowed="1 or more")
    if not 1 <= n_best <= width:
        raise SeesayError(f"n_best is {n_best}", allowed=f"1 to the width of the beam, which is {width}")
    if not length_power >= 0:
        raise SeesayError(f"length_power is {length_power}", allowed="0 or more")
    n = len(state[0])
    given, n_given = read_prefix(prefix, n, min_length, max_length, no_repeat)
    ended: list[list[tuple[float, Hypothesis]]] = [[] for _ in range(n)]  # the best of each image with their scores
    to_beat = np.full(n, -np.inf)  # the score of the last that is kept, where all are
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
        ends = scores + log_probs[:, END].reshape(n, s) if t >= min_length else np.full((n, s), -np.inf)
        if is_given.any():
            # Nothing but the given word follows, and slot 0 is the only one that such a row has.
            next_words = given[images[is_given], t]
            tops[is_given] = ends[is_given] = -np.inf
            tops[is_given, 0, 0] = log_probs.reshape(n, s, -1)[is_given, 0, next_words]
            choices[is_given, 0, 0] = next_words
        n_slots = 1 if s == 1 and is_given.all() else width
        scores, places = _fill_slots(scores[:, :, None] + tops, n_slots)  # (n, n_slots)
        # An end is found where some slot that was open to it took something less likely.
        is_found = ends >= np.minimum.accumulate(scores[:, ::-1], 1)[:, ::-1][:, :s]
        merits = ends / max(t, 1) ** length_power  # (n, s)
        for place, slot in np.argwhere(is_found & (merits > to_beat[images][:, None])).tolist():
            image = int(images[place])
            sentence = Hypothesis(tuple(words[place, slot, :t].tolist()), float(ends[place, slot]), finished=True)
            own = ended[image] = _best([*ended[image], (float(merits[place, slot]), sentence)], n_best)
            if len(own) == n_best:
                to_beat[image] = own[-1][0]
        parents = places // tops.shape[2]
        read = np.take_along_axis(choices.reshape(n, -1), places, 1)
        words = np.take_along_axis(words, parents[:, :, None], 1)
        words[:, :, t] = read
        # At best a beginning loses nothing more and becomes as long as may be.
        goes_on = scores.max(1) / max_length**length_power > to_beat[images]
        rows = (np.arange(n)[:, None] * s + parents)[goes_on]  # (n, n_slots) into the state
        images, scores, words = images[goes_on], scores[goes_on], words[goes_on]
        state, read = pick(state, rows.ravel()), read[goes_on].ravel()
    cut: list[list[tuple[float, Hypothesis]]] = [[] for _ in ended]
    for place, slot in np.argwhere(scores > -np.inf).tolist():
        sentence = Hypothesis(tuple(words[place, slot].tolist()), float(scores[place, slot]), finished=False)
        cut[images[place]].append((sentence.log_prob, sentence))
    both = zip(ended, cut, strict=True)
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
