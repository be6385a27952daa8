"""Learning to write what people's captions agree with: self-critical sequence training on CIDEr-D (Rennie et al. 2017).

The model draws several captions of each photo. One with a higher CIDEr-D than the others of the same photo becomes
likelier, one with a lower CIDEr-D less likely. A caption is compared with the mean of the others, in place of the
paper's greedy caption: it costs nothing more and has less variance (Luo 2020, "A better variant of self-critical
sequence training").

Captions are drawn as they will be written: from probabilities sharpened by a temperature below 1, none shorter than the
shortest that decoding allows. What is learned is the expected CIDEr-D of exactly these draws. Those of temperature 1
are far worse than what greedy or beam search writes.

The end of a sentence counts as a word of it. Otherwise captions that break off ("a dog in a") have the highest CIDEr-D.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from seesay.data.examples import Examples
from seesay.metrics.cider import CiderScorer
from seesay.models.base import Captioner
from seesay.text.tokens import tokenize
from seesay.text.vocabulary import END, PAD, SPECIAL, START, UNKNOWN

LONGEST = 20
"""Words at which a drawn caption is cut."""
_NEVER = (PAD, START, UNKNOWN)


class Rewards:
    """CIDEr-D of captions of one collection's photos, whose n-grams it weighs by how many of its photos have them."""

    def __init__(self, source: Examples) -> None:
        references = [[_ended(tokenize(each)) for each in item.sentences] for item in source.collection.items]
        self._scorer = CiderScorer(references)
        self._n_references = np.array([len(some) for some in references])

    def __call__(self, captions: Sequence[Sequence[str]], photos: Sequence[int]) -> Tensor:
        """The mean CIDEr-D of each caption with the references of its photo: (n,).

        Args:
            captions: The words of each, `SPECIAL[END]` the last of those that ended.
            photos: The place of each caption's photo in the collection.
        """
        counts = self._n_references[np.asarray(photos)]
        hypothesis_of = np.repeat(np.arange(len(captions)), counts)
        starts = self._scorer.references.starts[np.asarray(photos)]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        scores = self._scorer.pairs(captions, hypothesis_of, np.repeat(starts, counts) + within)
        return torch.from_numpy(np.bincount(hypothesis_of, scores, len(captions)) / counts).float()


def _ended(words: Sequence[str]) -> list[str]:
    return [*words, SPECIAL[END]]


def draw_captions(
    model: Captioner,
    images: Tensor,
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    shortest: int = 1,
    longest: int = LONGEST,
) -> tuple[Tensor, Tensor]:
    """One caption of each encoded image (n, D), drawn word by word.

    Args:
        temperature: Words are drawn by their probabilities to the power of 1 / temperature, divided by their sum.
        shortest: Words without which a caption does not end.
        longest: Words at which it is cut.

    Returns:
        Their words (n, T), padded after the end, and the logarithms of the probabilities with which they were drawn:
        (n,), with a gradient.
    """
    n = len(images)
    state, words = model.start(images), torch.full((n,), START)
    rows, totals = torch.full((n, longest), PAD), images.new_zeros(n)
    is_open = torch.arange(n)  # those that have not ended
    for t in range(longest):
        log_probs, state = model.step(state, words)
        never = _NEVER if t >= shortest else (*_NEVER, END)
        chances = (log_probs / temperature).index_fill(1, torch.tensor(never), float("-inf")).log_softmax(-1)
        words = _draw(chances.detach(), generator)
        rows[is_open, t] = words
        totals = totals.index_add(0, is_open, chances.gather(1, words.unsqueeze(1))[:, 0])
        goes_on = words != END
        is_open, words, state = is_open[goes_on], words[goes_on], tuple(part[goes_on] for part in state)
        if not len(is_open):
            break
    return rows[:, : t + 1], totals


def _draw(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """A number for each row (n, V), drawn by its probabilities: where their running sum passes a uniform number."""
    sums = log_probs.double().exp().cumsum(-1)
    # In double precision a uniform number of 24 bits never reaches the whole sum.
    passed = torch.rand(len(sums), 1, generator=generator) * sums[:, -1:]
    return torch.searchsorted(sums, passed, right=True)[:, 0]


def caption_words(model: Captioner, rows: Tensor) -> list[list[str]]:
    """The words of drawn rows, the sign of the end among them."""
    spelled = model.vocabulary.words
    return [[spelled[number] for number in row if number != PAD] for row in rows.tolist()]


def advantages(rewards: Tensor) -> Tensor:
    """How much better each caption (n, k) of a photo is than the mean of its others.

    Example:
        >>> advantages(torch.tensor([[1.0, 0.0, 0.5]]))
        tensor([[ 0.7500, -0.7500,  0.0000]])
    """
    k = rewards.shape[1]
    return (rewards - rewards.mean(1, keepdim=True)) * (k / (k - 1))
