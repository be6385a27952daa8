"""Beam search: the best sentences of a model that gives every next word a probability.

A beam keeps the `width` best beginnings. Which of them survive a step is decided slot by slot: slot j takes the best
continuation of the beginnings 0 … j that no earlier slot has taken (Lemons et al., ICAPS 2022, "Beam search: faster and
monotonic"). What a narrow beam finds, a wider one finds too, so a wider beam never returns a worse best sentence, which
the plain choice of the best `width` among all continuations does not promise.
"""

from operator import itemgetter

import torch
from torch import Tensor

from seesay.captioning.steps import Hypothesis, Prefix, Stepper, pick, read_prefix, top_words, without_repeats
from seesay.errors import SeesayError
from seesay.models.base import State
from seesay.text.vocabulary import END, PAD, START


@torch.inference_mode()
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
        state: Before the first word, one row for each picture.
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
    to_beat = torch.full((n,), -torch.inf, dtype=torch.float64)  # the score of the last that is kept, where all are
    images = torch.arange(n)  # those whose search goes on
    scores = torch.zeros(n, 1, dtype=torch.float64)  # (n, s) of each beginning; s is 1 until the beam opens, then width
    words = torch.full((n, 1, max_length), PAD)
    read = torch.full((n,), START)
    for t in range(max_length):
        if not len(images):
            break
        log_probs, state = model.step(state, read)  # (n · s, V)
        n, s = scores.shape
        open_to = without_repeats(log_probs, words[:, :, :t].flatten(0, 1), no_repeat)
        tops, choices = (part.reshape(n, s, -1) for part in top_words(open_to, width))  # (n, s, k)
        ends = scores + log_probs[:, END].reshape(n, s) if t >= min_length else torch.full_like(scores, -torch.inf)
        is_given = t < n_given[images]
        if is_given.any():
            # Nothing but the given word follows, and slot 0 is the only one that such a row has.
            next_words = given[images[is_given], t]
            tops[is_given] = ends[is_given] = -torch.inf
            tops[is_given, 0, 0] = log_probs.reshape(n, s, -1)[is_given, 0, next_words]
            choices[is_given, 0, 0] = next_words
        n_slots = 1 if s == 1 and is_given.all() else width
        scores, places = _fill_slots(scores.unsqueeze(2) + tops, n_slots)  # (n, n_slots)
        # An end is found where some slot that was open to it took something less likely.
        is_found = ends >= scores.flip(1).cummin(1).values.flip(1)[:, :s]
        merits = ends / max(t, 1) ** length_power  # (n, s)
        for place, slot in (is_found & (merits > to_beat[images].unsqueeze(1))).nonzero().tolist():
            image = int(images[place])
            sentence = Hypothesis(tuple(words[place, slot, :t].tolist()), float(ends[place, slot]), finished=True)
            own = ended[image] = _best([*ended[image], (float(merits[place, slot]), sentence)], n_best)
            if len(own) == n_best:
                to_beat[image] = own[-1][0]
        parents = places // tops.shape[2]
        read = choices.flatten(1).gather(1, places)
        words = words.gather(1, parents.unsqueeze(2).expand(-1, -1, max_length))
        words[:, :, t] = read
        # At best a beginning loses nothing more and becomes as long as may be.
        goes_on = scores.amax(1) / max_length**length_power > to_beat[images]
        rows = (torch.arange(n).unsqueeze(1) * s + parents)[goes_on]  # (n, n_slots) into the state
        images, scores, words = images[goes_on], scores[goes_on], words[goes_on]
        state, read = pick(state, rows.flatten()), read[goes_on].flatten()
    cut: list[list[tuple[float, Hypothesis]]] = [[] for _ in ended]
    for place, slot in (scores > -torch.inf).nonzero().tolist():
        sentence = Hypothesis(tuple(words[place, slot].tolist()), float(scores[place, slot]), finished=False)
        cut[images[place]].append((sentence.log_prob, sentence))
    both = zip(ended, cut, strict=True)
    return [[sentence for _, sentence in (own + _best(unended, n_best))[:n_best]] for own, unended in both]


def _best(sentences: list[tuple[float, Hypothesis]], n: int) -> list[tuple[float, Hypothesis]]:
    """The n of the largest scores, best first; of equal ones those that stood first."""
    return sorted(sentences, key=itemgetter(0), reverse=True)[:n]


def _fill_slots(totals: Tensor, n_slots: int) -> tuple[Tensor, Tensor]:
    """Which continuation each slot takes: the best of the beginnings 0 … its own that no earlier slot has taken.

    Args:
        totals: (n, s, k) of the k best continuations of each beginning; taken ones are overwritten.

    Returns:
        Their totals (n, n_slots), minus infinity where nothing was left, and their places in s · k (n, n_slots).
    """
    n, _, k = totals.shape
    left = totals.flatten(1)
    scores, places = totals.new_empty(n, n_slots), torch.empty(n, n_slots, dtype=torch.long)
    for slot in range(n_slots):
        values, taken = left[:, : (slot + 1) * k].max(1)
        scores[:, slot], places[:, slot] = values, taken
        left.scatter_(1, taken.unsqueeze(1), -torch.inf)
    return scores, places
