"""What takes the place of loops and blocks while a graph is followed.

Each gives what the function that it stands in for gives, without a Python loop over words and without blocks. That it
does is not taken for granted: every graph is compared with the model itself (`seesay.export.checking`).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from seesay.layers.sequences import Sequences


@torch.jit.script
def relu_states(w: Tensor, r: Tensor, U: Tensor) -> Tensor:
    """The states of a ReLU recurrence, m-RNN's Eq. 2, over what enters at each step: (n, T, r), (n, r) → (n, T, r)."""
    states: list[Tensor] = []
    for t in range(w.size(1)):
        r = torch.relu(r @ U.t() + w[:, t])
        states.append(r)
    return torch.stack(states, 1)


@torch.jit.script
def relu_lstm_states(pushes: Tensor, h: Tensor, c: Tensor, U: Tensor, hidden: int) -> tuple[Tensor, Tensor, Tensor]:
    """The outputs of a ReLU-LSTM over what is pushed at each step, (n, T, 4 · H) → (n, T, H), and the last h and c."""
    outputs: list[Tensor] = []
    for t in range(pushes.size(1)):
        total = pushes[:, t] + h @ U.t()
        gates = total[:, : 3 * hidden].sigmoid()
        i, f, o = gates[:, :hidden], gates[:, hidden : 2 * hidden], gates[:, 2 * hidden :]
        c = f * c + i * torch.relu(total[:, 3 * hidden :])
        h = o * c
        outputs.append(h)
    return torch.stack(outputs, 1), h, c


@torch.jit.script
def word_log_probs(hidden: Tensor, words: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """log P of the wanted words (L, T) after each state, one word of a sentence at a time: (K, L, T, d) → (K, L, T).

    The logits of a whole sentence under many images would take hundreds of megabytes.
    """
    found: list[Tensor] = []
    for t in range(words.size(1)):
        logits = hidden[:, :, t] @ weight.t() + bias  # (K, L, V)
        wanted = words[:, t].unsqueeze(0).unsqueeze(-1).expand(logits.size(0), -1, -1)
        found.append(logits.gather(-1, wanted).squeeze(-1) - logits.logsumexp(-1))
    return torch.stack(found, -1)


def recur(model: Any, w: Tensor, memory: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """For `MRNN._recur` with the paper's cell."""
    states = relu_states(w, memory[0], model.recurrence.weight)
    return states, [states[:, -1]]


def read_pushes(layer: Any, pushes: Tensor, memory: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """For `ReLULSTM.read`."""
    outputs, h, c = relu_lstm_states(pushes, *memory, layer.recurrent.weight, layer.hidden)
    return outputs, (h, c)


def sum_of_max(regions: Tensor, texts: Sequences, *, mask: Tensor | None = None) -> Tensor:
    """For `seesay.layers.alignment_score.sum_of_max`: all images, sentences and words at once."""
    n_words = texts.words.shape[1]
    words = texts.states.flatten(0, 1)  # (L · T, D)
    best = torch.matmul(regions, words.t()).amax(1)  # (K, L · T)
    best = best.reshape(regions.shape[0], -1, n_words)  # (K, L, T)
    return (best * texts.mask).sum(-1)


def log_likelihoods(
    images: Tensor,
    texts: Sequences,
    activation: Callable[[Tensor], Tensor],
    weight: Tensor,
    bias: Tensor,
    *,
    project: Tensor | None = None,
    self_normalised: bool = False,
    **_: Any,
) -> Tensor:
    """For `seesay.layers.likelihood.log_likelihoods`: all images, sentences and words at once."""
    hidden = activation(texts.states.unsqueeze(0) + images[:, None, None])  # (K, L, T, M)
    if self_normalised:
        wanted = weight[texts.words]  # (L, T, d)
        if project is not None:
            wanted = wanted @ project  # (L, T, M)
        found = (hidden * wanted).sum(-1) + bias[texts.words]
    else:
        found = word_log_probs(hidden if project is None else hidden @ project.t(), texts.words, weight, bias)
    return (found * texts.mask).sum(-1)
