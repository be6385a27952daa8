"""Recurrent encoders over padded sequences, exact for every length and without packing.

torch packs sequences of unequal length, which is slow on a CPU. Read from the left, padding at the end changes nothing
before it. To be read from the right, each sequence is reversed within its own length, so that its padding again comes
last.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def turn_around(x: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each sequence within its own length; padding stays where it is: (n, T, …) → (n, T, …).

    Example:
        >>> turn_around(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]))
        tensor([[3, 2, 1],
                [5, 4, 0]])
    """
    steps = torch.arange(x.shape[1]).expand(len(x), -1)  # (n, T)
    ends = lengths.unsqueeze(1)
    places = torch.where(steps < ends, ends - 1 - steps, steps)
    return x.gather(1, places.reshape(*places.shape, *[1] * (x.ndim - 2)).expand(x.shape))


def relu_states(w: Tensor, r: Tensor, U: Tensor) -> Tensor:
    """The states of a ReLU recurrence over its inputs: r(t) = ReLU(U · r(t−1) + w(t)).

    Args:
        w: (n, T, D) the inputs.
        r: (n, D) the state before the first of them.
        U: (D, D).

    Returns:
        (n, T, D).

    Example:
        >>> relu_states(torch.ones(1, 3, 1), torch.zeros(1, 1), 2 * torch.ones(1, 1)).flatten()
        tensor([1., 3., 7.])
    """
    states = []
    for t in range(w.shape[1]):
        r = torch.relu(F.linear(r, U) + w[:, t])
        states.append(r)
    return torch.stack(states, 1)


class Recurrent(nn.Module):
    """A recurrent layer, in one direction or in both, each with `hidden` units.

    Args:
        cell: `rnn`, `gru` or `lstm`.
    """

    def __init__(self, cell: str, n_inputs: int, hidden: int, *, bidirectional: bool) -> None:
        super().__init__()
        directions = ["rightward", "leftward"] if bidirectional else ["rightward"]
        self.directions = nn.ModuleDict({name: CELLS[cell](n_inputs, hidden, batch_first=True) for name in directions})

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The states at every step, the directions side by side; what stands behind a sequence's end has no meaning.

        Args:
            x: (n, T, D), padded at the end.
            lengths: (n,), at least 1 each.

        Returns:
            (n, T, hidden · directions).
        """
        states: list[Tensor] = [self.directions["rightward"](x)[0]]
        if "leftward" in self.directions:
            backward = self.directions["leftward"](turn_around(x, lengths))[0]
            states.append(turn_around(backward, lengths))
        return torch.cat(states, -1)

    def final(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Where each direction ends: the forward state of the last step, the backward state of the first."""
        n = torch.arange(len(states))
        if "leftward" not in self.directions:
            return states[n, lengths - 1]
        forward, backward = states.chunk(2, -1)
        return torch.cat([forward[n, lengths - 1], backward[:, 0]], -1)
