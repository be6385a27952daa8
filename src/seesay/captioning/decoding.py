"""Sentences out of a model that gives every next word a probability: greedy decoding and sampling.

The model is any `Stepper`; nothing here knows what it looks at. No sentence holds the unknown word, the start sign or
padding, and none is longer than `max_length`: one that has not ended by then is cut and says so.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from seesay.captioning.steps import FIRST, Hypothesis, Prefix, Stepper, pick, read_prefix, top_words, without_repeats
from seesay.errors import SeesayError
from seesay.models.base import State
from seesay.text.vocabulary import END, PAD, START


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
    given = read_prefix(prefix, n, min_length, max_length, no_repeat)

    def take_best(log_probs: Tensor, rows: Tensor, t: int) -> Tensor:
        values, words = top_words(log_probs, 1)
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
    words, lengths = read_prefix(prefix, n_rows, min_length, max_length, no_repeat)
    given = words.repeat_interleave(n, 0), lengths.repeat_interleave(n)
    generator = torch.Generator().manual_seed(seed)
    # Of 24 bits each, so that in double precision no product with a sum reaches the sum.
    noise = torch.rand(n_rows * n, max_length, generator=generator).double()

    def draw(log_probs: Tensor, rows: Tensor, t: int) -> Tensor:
        open_to = torch.cat([log_probs[:, END : END + 1], log_probs[:, FIRST:]], 1) / temperature
        if t < min_length:
            open_to[:, 0] = -torch.inf
        places = None
        if 0 < top_k < open_to.shape[1]:
            open_to, places = open_to.topk(top_k, 1)
        sums = open_to.double().softmax(1).cumsum(1)
        drawn = torch.searchsorted(sums, noise[rows, t, None] * sums[:, -1:], right=True)
        place = (drawn if places is None else places.gather(1, drawn)).squeeze(1)
        return torch.where(place == 0, END, place - 1 + FIRST)

    state = pick(state, torch.arange(n_rows).repeat_interleave(n))
    drawn = _walk(model, state, draw, given, max_length, no_repeat)
    return [drawn[start : start + n] for start in range(0, len(drawn), n)]


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
        read = choose(without_repeats(log_probs, words[rows, :t], no_repeat), rows, t)
        is_given = t < given[1][rows]
        if is_given.any():
            read = torch.where(is_given, given[0][rows, t], read)
        totals[rows] += log_probs.gather(1, read.unsqueeze(1)).squeeze(1)
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
