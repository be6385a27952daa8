"""Learning to write what people's captions agree with: self-critical sequence training on CIDEr-D (Rennie et al. 2017).

The model samples several captions of each photo. One with a higher CIDEr-D than the others of the same photo becomes
likelier, one with a lower CIDEr-D less likely. A sample is compared with the mean of the other samples, in place of the
paper's greedy caption: it costs nothing more and has less variance (Luo 2020, "A better variant of self-critical
sequence training").

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
"""Words of a sampled caption."""
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


@torch.no_grad()
def sample_words(model: Captioner, images: Tensor, generator: torch.Generator, longest: int = LONGEST) -> Tensor:
    """One caption of each encoded image (n, D), drawn word by word: (n, T), padded after its end."""
    n = len(images)
    state, words = model.start(images), torch.full((n,), START)
    drawn: list[Tensor] = []
    is_open = torch.ones(n, dtype=torch.bool)
    for _ in range(longest):
        log_probs, state = model.step(state, words)
        words = torch.multinomial(_allowed(log_probs).exp(), 1, generator=generator)[:, 0]
        drawn.append(torch.where(is_open, words, PAD))
        is_open = is_open & (words != END)
        if not is_open.any():
            break
    return torch.stack(drawn, 1)


def _allowed(logits: Tensor) -> Tensor:
    """Logits in which what no sentence may hold is impossible."""
    never = torch.zeros(logits.shape[-1]).index_fill_(0, torch.tensor(_NEVER), float("-inf"))
    return logits + never


def caption_words(model: Captioner, rows: Tensor) -> list[list[str]]:
    """The words of sampled rows, the sign of the end among them."""
    spelled = model.vocabulary.words
    return [[spelled[number] for number in row if number != PAD] for row in rows.tolist()]


def log_probabilities(model: Captioner, images: Tensor, rows: Tensor) -> Tensor:
    """The log-probability of each sampled row (n, T) given its encoded image: (n,)."""
    is_word = rows != PAD
    read = torch.cat([torch.full((len(rows), 1), START), rows[:, :-1]], 1)
    hidden = model.read(images, read)[is_word]
    logits = _allowed(model.predict(hidden)).log_softmax(-1)
    taken = logits.gather(1, rows[is_word].unsqueeze(1))[:, 0]
    owner = torch.arange(len(rows)).repeat_interleave(is_word.sum(1))
    return torch.zeros(len(rows)).index_add(0, owner, taken)


def advantages(rewards: Tensor) -> Tensor:
    """How much better each sample (n, k) of a photo is than the mean of its other samples.

    Example:
        >>> advantages(torch.tensor([[1.0, 0.0, 0.5]]))
        tensor([[ 0.7500, -0.7500,  0.0000]])
    """
    k = rewards.shape[1]
    return (rewards - rewards.mean(1, keepdim=True)) * (k / (k - 1))
