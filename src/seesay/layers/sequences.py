"""Encoded sentences of unlike length, kept together."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Sequences:
    """Rows of words with a vector each, padded at the end.

    Attributes:
        states: (n, T, D) what is kept of each word.
        words: (n, T) the words' numbers.
        lengths: (n,) how many of the T count.

    Example:
        >>> short = Sequences(torch.ones(1, 2, 3), torch.tensor([[5, 6]]), torch.tensor([2]))
        >>> long = Sequences(torch.ones(1, 4, 3), torch.tensor([[5, 6, 7, 8]]), torch.tensor([4]))
        >>> both = Sequences.join([short, long])
        >>> both.words.tolist(), both[torch.tensor([0])].states.shape
        ([[5, 6, 0, 0], [5, 6, 7, 8]], torch.Size([1, 2, 3]))
    """

    states: Tensor
    words: Tensor
    lengths: Tensor

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: Tensor | slice) -> "Sequences":
        """Some of the rows, without the padding that none of them needs."""
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        return Sequences(self.states[rows, :longest], self.words[rows, :longest], lengths)

    @property
    def mask(self) -> Tensor:
        """(n, T), True where there is a word."""
        return torch.arange(self.words.shape[1]) < self.lengths.unsqueeze(1)

    @staticmethod
    def none(weight: Tensor, dim: int) -> "Sequences":
        """No rows of `dim` numbers, for a process whose share of a small batch is nothing.

        Args:
            weight: Of the encoder, which still takes part in the gradient.
        """
        states = weight[:0, :1].expand(0, dim).unsqueeze(1)
        return Sequences(states, torch.zeros(0, 1, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))

    @staticmethod
    def join(parts: "Sequence[Sequences]") -> "Sequences":
        """All rows, padded to the longest."""
        longest = max(part.words.shape[1] for part in parts)
        missing = [longest - part.words.shape[1] for part in parts]
        return Sequences(
            torch.cat([F.pad(part.states, (0, 0, 0, more)) for part, more in zip(parts, missing, strict=True)]),
            torch.cat([F.pad(part.words, (0, more)) for part, more in zip(parts, missing, strict=True)]),
            torch.cat([part.lengths for part in parts]),
        )


def join_rows(parts: Sequence[Tensor] | Sequence[Sequences]) -> Tensor | Sequences:
    """Join what an encoder gave for one batch after the other."""
    if isinstance(parts[0], Sequences):
        return Sequences.join([part for part in parts if isinstance(part, Sequences)])
    return torch.cat([part for part in parts if isinstance(part, Tensor)])
