"""An LSTM with ReLU in place of tanh, so that nothing it keeps is ever negative.

    i, f, o = σ(W x_t + U h_{t−1} + b)     each with its own weights
    g       = ReLU(W_g x_t + U_g h_{t−1} + b_g)
    c_t     = f ⊙ c_{t−1} + i ⊙ g
    h_t     = o ⊙ ReLU(c_t) = o ⊙ c_t

The second ReLU does nothing, since c is a sum of products of numbers that are not negative. Excitation backprop
(`seesay.excitation.lstm`) needs just that, and every number of the forward pass: `trace` gives them.

Without tanh nothing bounds c. It stays calm by its start: U_g is a rotation, and gates begin half open but for the
forget gate, which keeps. Gradients are still to be clipped.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FORGET = 1.0
"""Where the bias of the forget gate starts."""


@dataclass(frozen=True)
class Trace:
    """Every number of a forward pass; step t of the states is after t inputs, so that step 0 is empty memory.

    Attributes:
        x: (n, T, D) the inputs.
        i, f, o, g: (n, T, H) the gates and the candidates.
        c, h: (n, T + 1, H) the cells and the outputs.
    """

    x: Tensor
    i: Tensor
    f: Tensor
    o: Tensor
    g: Tensor
    c: Tensor
    h: Tensor


class ReLULSTM(nn.Module):
    """The recurrent layer, over padded sequences that are read from the left.

    Attributes:
        inputs: W and b of the gates i, f, o and of the candidate g, one above the other: (4 · H, D).
        recurrent: U of the same: (4 · H, H).

    Example:
        >>> layer = ReLULSTM(3, 5)
        >>> h = layer(torch.rand(2, 4, 3))
        >>> h.shape, bool((h >= 0).all())
        (torch.Size([2, 4, 5]), True)
    """

    def __init__(self, n_inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inputs = nn.Linear(n_inputs, 4 * hidden)
        self.recurrent = nn.Linear(hidden, 4 * hidden, bias=False)
        self.initialise()

    def initialise(self) -> None:
        """Start the weights where training is stable."""
        for block in self.inputs.weight.data.chunk(4):
            nn.init.xavier_uniform_(block)
        for block in self.recurrent.weight.data.chunk(4):
            nn.init.orthogonal_(block)
        nn.init.zeros_(self.inputs.bias)
        nn.init.constant_(self.inputs.bias.data.chunk(4)[1], FORGET)

    def forward(self, x: Tensor) -> Tensor:
        """The outputs after every step: (n, T, D) → (n, T, H)."""
        return self.read(self.inputs(x), self.start(len(x)))[0]

    def start(self, n: int) -> tuple[Tensor, Tensor]:
        """The memory before anything was read: h and c, (n, H) each."""
        empty = self.recurrent.weight.new_zeros(n, self.hidden)
        return empty, empty

    def read(self, pushes: Tensor, memory: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Go on from a memory, with what the inputs push: `self.inputs` of them.

        Args:
            pushes: (n, T, 4 · H).
            memory: h and c, (n, H) each.

        Returns:
            The outputs after every step (n, T, H), and the memory after the last.
        """
        h, c = memory
        outputs = []
        for push in pushes.unbind(1):
            i, f, o, g = self._gates(push, h)
            c = torch.addcmul(f * c, i, g)
            h = o * c
            outputs.append(h)
        if not outputs:
            return h.new_zeros(len(h), 0, self.hidden), (h, c)
        return torch.stack(outputs, 1), (h, c)

    def trace(self, x: Tensor) -> Trace:
        """A forward pass that keeps everything: (n, T, D)."""
        h, c = self.start(len(x))
        gates, outputs, cells = [], [h], [c]
        for push in self.inputs(x).unbind(1):
            gates.append(self._gates(push, h))
            i, f, o, g = gates[-1]
            c = torch.addcmul(f * c, i, g)
            h = o * c
            outputs.append(h)
            cells.append(c)
        i, f, o, g = (torch.stack(part, 1) for part in zip(*gates, strict=True))
        return Trace(x, i, f, o, g, torch.stack(cells, 1), torch.stack(outputs, 1))

    def _gates(self, push: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        total = torch.addmm(push, h, self.recurrent.weight.t())  # (n, 4 · H)
        i, f, o = total[:, : 3 * self.hidden].sigmoid().chunk(3, 1)
        return i, f, o, F.relu(total[:, 3 * self.hidden :])
