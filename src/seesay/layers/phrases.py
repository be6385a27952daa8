"""Sentences as what they name: the vectors of their noun phrases."""

from dataclasses import dataclass

import torch
from torch import Tensor

from seesay.layers.sequences import Sequences


@dataclass(frozen=True)
class Phrases:
    """Sentences and their noun phrases, nested ones included.

    Attributes:
        sentences: (n, D).
        phrases: (P, D), sentence after sentence, in the order of the tree's nodes.
        owner: (P,) the sentence of each phrase.
        keys: (P,) equal for phrases of the same words.
        shares: (P,) what each phrase counts for in its sentence (`Reading.shares`).
    """

    sentences: Tensor
    phrases: Tensor
    owner: Tensor
    keys: Tensor
    shares: Tensor

    def bags(self) -> Sequences:
        """The phrases of each sentence with their shares; a sentence without any is one itself."""
        n, dim = self.sentences.shape
        counts = torch.bincount(self.owner, minlength=n)  # (n,)
        place = torch.arange(len(self.owner)) - (counts.cumsum(0) - counts)[self.owner]  # within the sentence
        states = self.sentences.new_zeros(n, max([1, *counts.tolist()]), dim)
        states = states.index_put((self.owner, place), self.phrases * self.shares.unsqueeze(1))
        alone = (counts == 0).nonzero().squeeze(1)
        states = states.index_put((alone, torch.zeros_like(alone)), self.sentences[alone])
        words = torch.zeros(states.shape[:2], dtype=torch.int64)
        return Sequences(states, words, counts.clamp(min=1))


def merge_words(texts: Sequences) -> Sequences:
    """The phrases of sentences in place of their words, which have the same vector, and without the whole sentence.

    Example:
        >>> states = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]])  # two words, one, the sentence
        >>> texts = Sequences(states, torch.zeros(1, 4, dtype=torch.int64), torch.tensor([4]))
        >>> merge_words(texts).states.tolist()
        [[[2.0, 0.0], [0.0, 1.0]]]
    """
    mask = torch.arange(texts.words.shape[1]) < (texts.lengths - 1).unsqueeze(1)
    words = texts.states[mask]  # (W, D)
    owner = torch.arange(len(texts)).repeat_interleave(texts.lengths - 1)  # (W,)
    begins = torch.ones(len(words), dtype=torch.bool)
    begins[1:] = (words[1:] != words[:-1]).any(1) | (owner[1:] != owner[:-1])
    counts = torch.bincount(begins.cumsum(0) - 1)  # words of each phrase
    phrases, owner = words[begins] * counts.unsqueeze(1), owner[begins]
    lengths = torch.bincount(owner, minlength=len(texts))
    states = phrases.new_zeros(len(texts), max([1, *lengths.tolist()]), words.shape[1])
    states[owner, torch.arange(len(owner)) - (lengths.cumsum(0) - lengths)[owner]] = phrases
    return Sequences(states, torch.zeros(states.shape[:2], dtype=torch.int64), lengths)
