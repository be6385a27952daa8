"""Sentences out of a model that gives every next word a probability: the likeliest, drawn ones, the best of a beam.

The model is any `Stepper`; nothing here knows what it looks at. No sentence holds the unknown word, the start sign or
padding, and none is longer than `max_length`: one that has not ended by then is cut and says so.

A beam keeps the `width` best beginnings. Which of them survive a step is decided slot by slot: slot j takes the best
continuation of the beginnings 0 … j that no earlier slot has taken (Lemons et al., ICAPS 2022, "Beam search: faster and
monotonic"). What a narrow beam finds, a wider one finds too, so a wider beam never returns a worse best sentence, which
the plain choice of the best `width` among all continuations does not promise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol

import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.models.base import State
from seesay.text.vocabulary import END, PAD, SPECIAL, START

_FIRST = len(SPECIAL)  # the number of the first real word


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


@torch.inference_mode()
def greedy(
    model: Stepper,
    state: State,
    *,
    prefix: Prefix = (),
    min_length: int = 1,
    max_length: int = 30,
    no_repeat: int = 0,
) -> list[Hypothesis]:
    """Take the likeliest word again and again.

    Args:
        model: Gives the probabilities.
        state: Before the first word, one row for each picture.
        prefix: Numbers of the first words to continue from: the same for every row, or a sequence for each row.
        min_length: A sentence does not end with fewer words than this.
        max_length: A sentence that has this many words without having ended is cut.
        no_repeat: No run of so many words is said twice, but for given words; 0 allows everything.

    Returns:
        One hypothesis for each row of the state.

    Example:
        >>> class Bigrams:
        ...     after = {START: [0, 0, 0.1, 0, 0.8, 0.1], 4: [0, 0, 0, 0, 0, 1.0], 5: [0, 0, 1.0, 0, 0, 0]}
        ...     def step(self, state, words):
        ...         chances = torch.tensor([self.after[word] for word in words.tolist()])
        ...         return chances.clamp(min=1e-9).log(), state
        >>> greedy(Bigrams(), (torch.zeros(1, 1),))
        [Hypothesis(words=(4, 5), log_prob=-0.2231..., finished=True)]
    """
    n = len(state[0])
    given = _read_prefix(prefix, n, min_length, max_length, no_repeat)

    def take_best(log_probs: Tensor, rows: Tensor, t: int) -> Tensor:
        values, words = _top_words(log_probs, 1)
        if t < min_length:
            return words[:, 0]
        return torch.where(log_probs[:, END] >= values[:, 0], END, words[:, 0])

    return _walk(model, state, take_best, given, max_length, no_repeat)


@torch.inference_mode()
def sample(
    model: Stepper,
    state: State,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    seed: int = 0,
    n: int = 1,
    prefix: Prefix = (),
    min_length: int = 1,
    max_length: int = 30,
    no_repeat: int = 0,
) -> list[list[Hypothesis]]:
    """Draw every word by its probability.

    What is drawn for a row depends on the seed, on the row's place and on its own probabilities, not on the other rows.

    Args:
        model: Gives the probabilities.
        state: Before the first word, one row for each picture.
        temperature: Below 1 likely words become likelier, above 1 less so. `log_prob` stays the model's own.
        top_k: Draw among this many likeliest words only; 0 takes all.
        seed: The same seed draws the same sentences.
        n: Sentences for each row.
        prefix: As for `greedy`.
        min_length: As for `greedy`.
        max_length: As for `greedy`.
        no_repeat: As for `greedy`.

    Returns:
        For each row its `n` sentences, in the order in which they were drawn.
    """
    if not temperature > 0:
        raise SeesayError(f"the temperature is {temperature}", allowed="a number above 0; small ones are nearly greedy")
    if top_k < 0:
        raise SeesayError(f"top_k is {top_k}", allowed="1 or more, or 0 for all words")
    if n < 1:
        raise SeesayError(f"n is {n}", allowed="1 or more sentences for each picture")
    n_rows = len(state[0])
    words, lengths = _read_prefix(prefix, n_rows, min_length, max_length, no_repeat)
    given = words.repeat_interleave(n, 0), lengths.repeat_interleave(n)
    generator = torch.Generator().manual_seed(seed)
    # Of 24 bits each, so that in double precision no product with a sum reaches the sum.
    noise = torch.rand(n_rows * n, max_length, generator=generator).double()

    def draw(log_probs: Tensor, rows: Tensor, t: int) -> Tensor:
        open_to = torch.cat([log_probs[:, END : END + 1], log_probs[:, _FIRST:]], 1) / temperature
        if t < min_length:
            open_to[:, 0] = -torch.inf
        places = None
        if 0 < top_k < open_to.shape[1]:
            open_to, places = open_to.topk(top_k, 1)
        sums = open_to.double().softmax(1).cumsum(1)
        drawn = torch.searchsorted(sums, noise[rows, t, None] * sums[:, -1:], right=True)
        place = (drawn if places is None else places.gather(1, drawn)).squeeze(1)
        return torch.where(place == 0, END, place - 1 + _FIRST)

    state = _pick(state, torch.arange(n_rows).repeat_interleave(n))
    drawn = _walk(model, state, draw, given, max_length, no_repeat)
    return [drawn[start : start + n] for start in range(0, len(drawn), n)]


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
    given, n_given = _read_prefix(prefix, n, min_length, max_length, no_repeat)
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
        open_to = _without_repeats(log_probs, words[:, :, :t].flatten(0, 1), no_repeat)
        tops, choices = (part.reshape(n, s, -1) for part in _top_words(open_to, width))  # (n, s, k)
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
        state, read = _pick(state, rows.flatten()), read[goes_on].flatten()
    cut: list[list[tuple[float, Hypothesis]]] = [[] for _ in ended]
    for place, slot in (scores > -torch.inf).nonzero().tolist():
        sentence = Hypothesis(tuple(words[place, slot].tolist()), float(scores[place, slot]), finished=False)
        cut[images[place]].append((sentence.log_prob, sentence))
    both = zip(ended, cut, strict=True)
    return [[sentence for _, sentence in (own + _best(unended, n_best))[:n_best]] for own, unended in both]


def _best(sentences: list[tuple[float, Hypothesis]], n: int) -> list[tuple[float, Hypothesis]]:
    """The n of the largest scores, best first; of equal ones those that stood first."""
    return sorted(sentences, key=itemgetter(0), reverse=True)[:n]


def _top_words(log_probs: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k likeliest real words of each row and their log-probabilities: (n, k) each, best first."""
    values, places = log_probs[:, _FIRST:].topk(min(k, log_probs.shape[1] - _FIRST), 1)
    return values, places + _FIRST


def _without_repeats(log_probs: Tensor, words: Tensor, n: int) -> Tensor:
    """Leave out, of the words that may come next (R, V), those that would end a run of n that was said: (R, t)."""
    if n == 0 or words.shape[1] < n:
        return log_probs
    said = words.unfold(1, n, 1)  # (R, t - n + 1, n)
    latest = words[:, words.shape[1] - n + 1 :].unsqueeze(1)  # (R, 1, n - 1)
    rows, places = (said[:, :, :-1] == latest).all(2).nonzero(as_tuple=True)
    log_probs = log_probs.clone()
    log_probs[rows, said[rows, places, -1]] = -torch.inf
    return log_probs


def _pick(state: State, rows: Tensor) -> State:
    return tuple(part[rows] for part in state)


def _read_prefix(prefix: Prefix, n: int, min_length: int, max_length: int, no_repeat: int) -> tuple[Tensor, Tensor]:
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
    if any(word < _FIRST for row in rows for word in row):
        raise SeesayError("the first words hold a word that the model does not know, or a sign that is no word")
    given = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.long)
    return given.reshape(n, longest), torch.tensor([len(row) for row in rows], dtype=torch.long)


def _walk(
    model: Stepper,
    state: State,
    choose: Callable[[Tensor, Tensor, int], Tensor],
    given: tuple[Tensor, Tensor],
    max_length: int,
    no_repeat: int,
) -> list[Hypothesis]:
    """Write one sentence for each row. `choose` takes log-probabilities, their rows and the step, and gives a word."""
    n = len(state[0])
    words = torch.full((n, max_length), PAD)
    totals = torch.zeros(n, dtype=torch.float64)
    lengths = torch.full((n,), max_length)
    rows = torch.arange(n)  # those that have not ended
    read = torch.full((n,), START)
    for t in range(max_length):
        if not len(rows):
            break
        log_probs, state = model.step(state, read)  # (n_rows, V)
        read = choose(_without_repeats(log_probs, words[rows, :t], no_repeat), rows, t)
        is_given = t < given[1][rows]
        if is_given.any():
            read = torch.where(is_given, given[0][rows, t], read)
        totals[rows] += log_probs.gather(1, read.unsqueeze(1)).squeeze(1)
        words[rows, t] = read
        has_ended = read == END
        if has_ended.any():
            lengths[rows[has_ended]] = t
            goes_on = ~has_ended
            rows, read, state = rows[goes_on], read[goes_on], _pick(state, goes_on)
    return [
        Hypothesis(tuple(own[:length]), total, length < max_length)
        for own, length, total in zip(words.tolist(), lengths.tolist(), totals.tolist(), strict=True)
    ]


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
