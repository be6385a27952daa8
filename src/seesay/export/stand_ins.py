"""What takes the place of loops and blocks while a graph is followed.

Each gives what the function that it stands in for gives, without a Python loop over words and without blocks. That it
does is not taken for granted: every graph is compared with the model itself (`seesay.export.checking`).
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.layers.relu_lstm import Trace
from seesay.layers.sequences import Sequences


@torch.jit.script
def relu_states(w: Tensor, r: Tensor, U: Tensor) -> Tensor:
    """For `seesay.layers.recurrent.relu_states`."""
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
    normalised: bool = True,
    **_: Any,
) -> Tensor:
    """For `seesay.layers.likelihood.log_likelihoods`: all images, sentences and words at once."""
    hidden = activation(texts.states.unsqueeze(0) + images[:, None, None])  # (K, L, T, M)
    if not normalised:
        wanted = weight[texts.words] if project is None else weight[texts.words] @ project  # (L, T, M)
        return (((hidden * wanted).sum(-1) + bias[texts.words]) * texts.mask).sum(-1)
    found = word_log_probs(hidden if project is None else hidden @ project.t(), texts.words, weight, bias)
    scores: Tensor = (found * texts.mask).sum(-1)
    return scores


@torch.jit.script
def relu_lstm_trace(pushes: Tensor, U: Tensor, hidden: int) -> list[Tensor]:
    """Every number of a ReLU-LSTM over what is pushed at each step, (n, T, 4 · H): i, f, o, g, c, h of every step."""
    h = pushes.new_zeros(pushes.size(0), hidden)
    c = h
    gates: list[Tensor] = []
    candidates: list[Tensor] = []
    cells: list[Tensor] = []
    outputs: list[Tensor] = []
    for t in range(pushes.size(1)):
        total = pushes[:, t] + h @ U.t()
        gate = total[:, : 3 * hidden].sigmoid()
        g = torch.relu(total[:, 3 * hidden :])
        c = gate[:, hidden : 2 * hidden] * c + gate[:, :hidden] * g
        h = gate[:, 2 * hidden :] * c
        gates.append(gate)
        candidates.append(g)
        cells.append(c)
        outputs.append(h)
    return [torch.stack(gates, 1), torch.stack(candidates, 1), torch.stack(cells, 1), torch.stack(outputs, 1)]


def trace_lstm(layer: Any, x: Tensor) -> Trace:
    """For `ReLULSTM.trace`."""
    hidden = layer.hidden
    gates, g, c, h = relu_lstm_trace(layer.inputs(x), layer.recurrent.weight, hidden)
    nothing = torch.zeros_like(h[:, :1])
    i, f, o = gates[..., :hidden], gates[..., hidden : 2 * hidden], gates[..., 2 * hidden :]
    return Trace(x, i, f, o, g, torch.cat([nothing, c], 1), torch.cat([nothing, h], 1))


@torch.jit.script
def flow_back(
    x: Tensor, h: Tensor, stays: Tensor, enters: Tensor, W: Tensor, U: Tensor, lengths: Tensor, prior: Tensor
) -> Tensor:
    """The loop of `propagate_lstm`: (n, T, D), the last step first."""
    totals = x @ W.t() + h @ U.t()  # (n, T, H)
    held = torch.zeros_like(prior)
    found: list[Tensor] = []
    for back in range(x.size(1)):
        t = x.size(1) - 1 - back
        held = torch.where((lengths == t + 1).unsqueeze(1), prior, held)
        push = held * enters[:, t]
        shares = torch.where(totals[:, t] > 0, push / totals[:, t], torch.zeros_like(push))
        found.append(x[:, t] * (shares @ W))
        held = held * stays[:, t] + h[:, t] * (shares @ U)
    return torch.stack(found, 1)


def propagate_lstm(lstm: Any, trace: Trace, lengths: Tensor, prior: Tensor) -> Tensor:
    """For `seesay.excitation.lstm.propagate_lstm`."""
    W = lstm.inputs.weight[3 * lstm.hidden :].clamp(min=0)
    U = lstm.recurrent.weight[3 * lstm.hidden :].clamp(min=0)
    after = trace.c[:, 1:]
    kept, entered = trace.f * trace.c[:, :-1], trace.i * trace.g
    stays, enters = (torch.where(after > 0, part / after, torch.zeros_like(part)) for part in (kept, entered))
    flow: Tensor = flow_back(trace.x, trace.h[:, :-1], stays, enters, W, U, lengths, prior)
    return flow.flip(1)


class Folded(nn.Linear):
    """A linear layer whose weight a graph computes from those of the layer and of the batch norm behind it."""

    def __init__(self, linear: nn.Linear, norm: nn.BatchNorm1d) -> None:
        nn.Module.__init__(self)
        assert norm.running_var is not None
        assert norm.running_mean is not None
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        self.weight = linear.weight * scale.unsqueeze(1)  # no parameter: it is computed
        self.bias = (linear.bias - norm.running_mean) * scale + norm.bias  # type: ignore[assignment]


def fold_batch_norm(layers: Iterable[nn.Module]) -> list[nn.Module]:
    """For `seesay.excitation.rules.fold_batch_norm`, whose new weights would be constants of the graph."""
    folded: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, nn.BatchNorm1d) and folded and isinstance(folded[-1], nn.Linear):
            folded[-1] = Folded(folded[-1], layer)
        else:
            folded.append(layer)
    return folded


class _Attention(torch.autograd.Function):
    """Attention of several heads as the one operator that ONNX Runtime has for it: a graph that is opened for a single
    query spends more time on the hundred nodes that reshape and scale than on the sentence."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, heads: int) -> Tensor:
        n, length, dim = query.shape
        q, k, v = (part.view(n, length, heads, -1).transpose(1, 2) for part in (query, key, value))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.bool()[:, None, None, :])
        return attended.transpose(1, 2).reshape(n, length, dim)

    @staticmethod
    def symbolic(g: Any, query: Any, key: Any, value: Any, mask: Any, heads: int) -> Any:
        none = g.op("prim::Constant")
        none.setType(torch._C.OptionalType.ofTensor())
        found = g.op("com.microsoft::MultiHeadAttention", query, key, value, none, mask, num_heads_i=heads)
        return found.setType(query.type())


def attend(block: Any, x: Tensor, mask: Tensor) -> Tensor:
    """For `Block.forward` of `seesay.layers.transformer`."""
    parts = block.attend(x).split(block.mix.in_features, dim=2)
    attended: Any = _Attention.apply(*parts, mask[:, 0, 0].to(torch.int32), block.heads)  # type: ignore[no-untyped-call]
    x = block.attend_norm(x + block.mix(attended))
    out: Tensor = block.norm(x + block.narrow(F.gelu(block.widen(x))))
    return out
