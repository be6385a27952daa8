"""Greedy decoding and sampling of sentences, from a model that gives every next word a probability.

The model is any `Stepper`; nothing here knows what it looks at. No sentence holds the unknown word, the start sign or
padding, and none is longer than `max_length`: one that has not ended by then is cut and says so.
"""

from collections.abc import Callable

import numpy as np

from seesay.captioning.random import uniform
from seesay.captioning.steps import (
    FIRST,
    Floats,
    Hypothesis,
    Ints,
    Prefix,
    State,
    Stepper,
    largest,
    pick,
    read_prefix,
    top_words,
    without_repeats,
)
from seesay.errors import SeesayError
from seesay.text.vocabulary import END, PAD, START


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
        state: Before the first word, one row for each image.
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
        ...         chances = np.array([self.after[word] for word in words.tolist()])
        ...         return np.log(chances.clip(1e-9)), state
        >>> greedy(Bigrams(), (np.zeros((1, 1)),))
        [Hypothesis(words=(4, 5), log_prob=-0.2231..., finished=True)]
    """
    n = len(state[0])
    given = read_prefix(prefix, n, min_length, max_length, no_repeat)

    def take_best(log_probs: Floats, rows: Ints, t: int) -> Ints:
        values, words = top_words(log_probs, 1)
        if t < min_length:
            return words[:, 0]
        return np.where(log_probs[:, END] >= values[:, 0], END, words[:, 0])

    return _walk(model, state, take_best, given, max_length, no_repeat)


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
        state: Before the first word, one row for each image.
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
        raise SeesayError(f"n is {n}", allowed="1 or more sentences for each image")
    n_rows = len(state[0])
    words, lengths = read_prefix(prefix, n_rows, min_length, max_length, no_repeat)
    given = words.repeat(n, 0), lengths.repeat(n)
    # Of 24 bits each, so that in double precision no product with a sum reaches the sum.
    noise = uniform(seed, n_rows * n * max_length).reshape(n_rows * n, max_length)

    def draw(log_probs: Floats, rows: Ints, t: int) -> Ints:
        open_to = np.concatenate([log_probs[:, END : END + 1], log_probs[:, FIRST:]], 1) / np.float32(temperature)
        if t < min_length:
            open_to[:, 0] = -np.inf
        places = None
        if 0 < top_k < open_to.shape[1]:
            places = largest(open_to, top_k)
            open_to = np.take_along_axis(open_to, places, 1)
        chances = np.exp(open_to.astype(np.float64) - open_to.max(1, keepdims=True))
        sums = (chances / chances.sum(1, keepdims=True)).cumsum(1)
        drawn = (sums <= noise[rows, t, None] * sums[:, -1:]).sum(1)
        place = drawn if places is None else np.take_along_axis(places, drawn[:, None], 1)[:, 0]
        return np.where(place == 0, END, place - 1 + FIRST)

    state = pick(state, np.repeat(np.arange(n_rows), n))
    drawn = _walk(model, state, draw, given, max_length, no_repeat)
    return [drawn[start : start + n] for start in range(0, len(drawn), n)]


def _walk(
    model: Stepper,
    state: State,
    choose: Callable[[Floats, Ints, int], Ints],
    given: tuple[Ints, Ints],
    max_length: int,
    no_repeat: int,
) -> list[Hypothesis]:
    """Write one sentence for each row. `choose` takes log-probabilities, their rows and the step, and gives a word."""
    n = len(state[0])
    words = np.full((n, max_length), PAD, np.int64)
    totals = np.zeros(n)
    lengths = np.full(n, max_length)
    rows = np.arange(n)  # those that have not ended
    read = np.full(n, START, np.int64)
    for t in range(max_length):
        if not len(rows):
            break
        log_probs, state = model.step(state, read)  # (n_rows, V)
        read = choose(without_repeats(log_probs, words[rows, :t], no_repeat), rows, t)
        is_given = t < given[1][rows]
        if is_given.any():
            read = np.where(is_given, given[0][rows, t], read)
        totals[rows] += np.take_along_axis(log_probs, read[:, None], 1)[:, 0]
        words[rows, t] = read
        has_ended = read == END
        if has_ended.any():
            lengths[rows[has_ended]] = t
            goes_on = ~has_ended
            rows, read, state = rows[goes_on], read[goes_on], pick(state, goes_on)
    return [
        Hypothesis(tuple(own[:length]), total, length < max_length)
        for own, length, total in zip(words.tolist(), lengths.tolist(), totals.tolist(), strict=True)
    ]
