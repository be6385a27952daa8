"""Excitation backprop through time: from the last output of a ReLU-LSTM to all its inputs.

As Bargal et al. (2017) extend it to recurrent networks: gates say how much passes and are taken as constants, and
probability flows through what they let pass.

    h_t = o ⊙ c_t                          c_t takes all that h_t holds
    c_t = f ⊙ c_{t−1} + i ⊙ g              shared in proportion to the two terms
    g   = ReLU(W_g x_t + U_g h_{t−1})      shared among x_t and h_{t−1} by the rule of a linear layer

What reaches x_t is the weight of the word, or of the image, that was read at t.
"""

import torch
from torch import Tensor

from seesay.excitation.rules import divide, require_not_negative
from seesay.layers.relu_lstm import ReLULSTM, Trace


@torch.no_grad()
def propagate_lstm(lstm: ReLULSTM, trace: Trace, lengths: Tensor, prior: Tensor) -> Tensor:
    """Let probability flow from the last outputs back to the inputs.

    Args:
        trace: Of the forward pass, as `lstm.trace` gives it.
        lengths: (n,) how many inputs of each row count; its last output is the one after these.
        prior: (n, H) the probability of every unit of those outputs.

    Returns:
        (n, T, D) the probability of every number of every input. What is missing to the prior's total was held by
        candidates that their bias alone has excited.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> lstm = ReLULSTM(3, 4)
        >>> trace = lstm.trace(torch.rand(1, 5, 3))
        >>> found = propagate_lstm(lstm, trace, torch.tensor([5]), trace.h[:, -1] / trace.h[:, -1].sum())
        >>> found.shape, round(float(found.sum()), 4)
        (torch.Size([1, 5, 3]), 1.0)
    """
    require_not_negative(trace.x, "the LSTM")
    n_steps = trace.x.shape[1]
    from_input = lstm.inputs.weight[3 * lstm.hidden :].clamp(min=0)  # W_g⁺ (H, D)
    from_output = lstm.recurrent.weight[3 * lstm.hidden :].clamp(min=0)  # U_g⁺ (H, H)
    totals = trace.x @ from_input.T + trace.h[:, :-1] @ from_output.T  # (n, T, H): what excites each candidate
    kept = trace.f * trace.c[:, :-1]  # (n, T, H)
    # A unit whose cell is empty has been excited by nothing: its probability goes nowhere.
    stays, enters = divide(kept, trace.c[:, 1:]), divide(trace.i * trace.g, trace.c[:, 1:])
    found = torch.zeros_like(trace.x)
    held = torch.zeros_like(prior)  # (n, H) at the cells
    for t in range(n_steps - 1, -1, -1):
        held = torch.where((lengths == t + 1).unsqueeze(1), prior, held)
        shares = divide(held * enters[:, t], totals[:, t])
        found[:, t] = trace.x[:, t] * (shares @ from_input)
        held = held * stays[:, t] + trace.h[:, t] * (shares @ from_output)
    return found
