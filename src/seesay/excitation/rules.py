"""Excitation backprop: which neurons below have made a neuron win (Zhang et al., ECCV 2016).

From a layer to the one below it flows probability. A neuron i that holds P(i) hands it to its inputs j in proportion to
what they have contributed with weights that excite:

    P(j | i) = a_j w⁺_ij / Σ_k a_k w⁺_ik        w⁺ = max(w, 0)

so P(j) = a_j Σ_i w⁺_ij P(i) / z_i with z = w⁺ a: one pass forward and one back, no gradients. Weights that inhibit and
biases take no part. Activations a must not be negative, which ReLU sees to. Probability is neither made nor lost, but
for what a neuron holds that nothing excited: its bias alone made it win.

A network is an explicit list of layers: linear, convolution, max and mean pooling, ReLU and what changes no number.
Batch norm is folded into the convolution before it first (`fold_batch_norm`). The recurrent part is in
`seesay.excitation.lstm`.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.grad import conv2d_input

from seesay.errors import SeesayError

Layers = Sequence[nn.Module]

_UNCHANGED = (nn.ReLU, nn.ReLU6, nn.Dropout, nn.Identity)


def run(layers: Layers, x: Tensor) -> list[Tensor]:
    """The activations of a network: what goes in, and what comes out of every layer."""
    found = [x]
    for layer in layers:
        found.append(layer(found[-1]))
    return found


@torch.no_grad()
def propagate(layers: Layers, activations: Sequence[Tensor], prior: Tensor) -> list[Tensor]:
    """Let probability flow from the last layer down to the first.

    Args:
        layers: From the lowest to the highest.
        activations: As `run` gives them.
        prior: The probability of every neuron of the last layer; several, as of a batch, side by side.

    Returns:
        The probabilities of all activations in the order of `activations`; the last is the prior itself.

    Raises:
        SeesayError: A layer has no rule, or is excited by negative numbers.

    Example:
        >>> layer = nn.Linear(3, 1)
        >>> _ = layer.weight.data.copy_(torch.tensor([[1.0, 2.0, -5.0]]))
        >>> propagate([layer], run([layer], torch.tensor([[2.0, 1.0, 7.0]])), torch.ones(1, 1))[0]
        tensor([[0.5000, 0.5000, 0.0000]])
    """
    found = [prior]
    for place in range(len(layers) - 1, -1, -1):
        found.append(_descend(layers[place], activations[place], found[-1]))
    return found[::-1]


def linear_rule(a: Tensor, weight: Tensor, probabilities: Tensor) -> Tensor:
    """From the outputs of a linear layer (…, n_out) to its inputs (…, n_in), which are `a`."""
    excites = weight.clamp(min=0)  # (n_out, n_in)
    return a * (divide(probabilities, F.linear(a, excites)) @ excites)


def divide(probabilities: Tensor, totals: Tensor) -> Tensor:
    """P / z, and 0 where nothing excites."""
    return torch.where(totals > 0, probabilities / totals, 0)


def fold_batch_norm(layers: Iterable[nn.Module]) -> list[nn.Module]:
    """The same network as it works after training, every batch norm folded into the layer before it.

    Example:
        >>> layers = nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.ReLU()).eval()
        >>> [type(layer).__name__ for layer in fold_batch_norm(layers)]
        ['Conv2d', 'ReLU']
    """
    folded: list[nn.Module] = []
    for layer in layers:
        before = folded[-1] if folded else None
        if isinstance(layer, nn.BatchNorm2d) and isinstance(before, nn.Conv2d):
            folded[-1] = nn.utils.fuse_conv_bn_eval(before, layer)
        elif isinstance(layer, nn.BatchNorm1d) and isinstance(before, nn.Linear):
            folded[-1] = nn.utils.fuse_linear_bn_eval(before, layer)
        else:
            folded.append(layer)
    return folded


def require_not_negative(a: Tensor, where: str) -> None:
    """Refuse activations for which the rule has no meaning."""
    if a.numel() and float(a.min()) < 0:
        raise SeesayError(
            f"{where} is excited by negative numbers, down to {float(a.min()):.3g}",
            allowed="layers that come after a ReLU",
            hint="stop at the layer above, or take a network of plain convolutions such as vgg16",
        )


def _descend(layer: nn.Module, a: Tensor, probabilities: Tensor) -> Tensor:
    if isinstance(layer, _UNCHANGED):
        return probabilities
    if isinstance(layer, nn.Flatten):
        return probabilities.reshape(a.shape)
    rule = next((rule for kind, rule in _RULES.items() if isinstance(layer, kind)), None)
    if rule is None:
        hint = "fold_batch_norm" if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d) else None
        known = [kind.__name__ for kind in (*_RULES, nn.Flatten, *_UNCHANGED)]
        raise SeesayError(f"excitation backprop has no rule for {type(layer).__name__}", allowed=known, hint=hint)
    if not isinstance(layer, nn.MaxPool2d):  # the winner of a pool hands on everything, whatever its sign
        require_not_negative(a, f"a {type(layer).__name__}")
    below: Tensor = rule(layer, a, probabilities)
    return below


def _linear(layer: nn.Linear, a: Tensor, probabilities: Tensor) -> Tensor:
    return linear_rule(a, layer.weight, probabilities)


def _convolution(layer: nn.Conv2d, a: Tensor, probabilities: Tensor) -> Tensor:
    if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
        raise SeesayError(f"a convolution padded by {layer.padding_mode}, {layer.padding}", allowed="zeros, in numbers")
    excites = layer.weight.clamp(min=0)
    how = (layer.stride, layer.padding, layer.dilation, layer.groups)
    totals = F.conv2d(a, excites, None, *how)
    # The transposed convolution, under the name that knows how large its result has to be.
    back: Tensor = conv2d_input(list(a.shape), excites, divide(probabilities, totals), *how)  # type: ignore[no-untyped-call]
    return a * back


def _max_pool(layer: nn.MaxPool2d, a: Tensor, probabilities: Tensor) -> Tensor:
    _, winners = F.max_pool2d(
        a, layer.kernel_size, layer.stride, layer.padding, layer.dilation, layer.ceil_mode, return_indices=True
    )
    below = torch.zeros_like(a, memory_format=torch.contiguous_format).flatten(-2)
    return below.scatter_add_(-1, winners.flatten(-2), probabilities.flatten(-2)).view(a.shape)


def _mean_pool(layer: nn.AvgPool2d, a: Tensor, probabilities: Tensor) -> Tensor:
    if layer.ceil_mode:
        raise SeesayError("a mean pool that rounds up has no rule", allowed="ceil_mode=False")
    kernel, stride = _pair(layer.kernel_size), _pair(layer.stride)
    ones = a.new_ones(a.shape[-3], 1, *kernel)  # how many cells are counted cancels out
    how = (stride, _pair(layer.padding), (1, 1), a.shape[-3])
    totals = F.conv2d(a, ones, None, *how)
    back: Tensor = conv2d_input(list(a.shape), ones, divide(probabilities, totals), *how)  # type: ignore[no-untyped-call]
    return a * back


def _adaptive_mean_pool(layer: nn.AdaptiveAvgPool2d, a: Tensor, probabilities: Tensor) -> Tensor:
    if probabilities.shape[-2:] == (1, 1):  # one mean over all, as most networks end: no products are needed
        return a * divide(probabilities, a.sum((-2, -1), keepdim=True))
    rows, columns = (
        _window_means(cells, after) for cells, after in zip(a.shape[-2:], probabilities.shape[-2:], strict=True)
    )
    rows, columns = rows.to(a), columns.to(a)
    totals = rows @ a @ columns.T
    return a * (rows.T @ divide(probabilities, totals) @ columns)


def _window_means(n_cells: int, n_windows: int) -> Tensor:
    """How an adaptive pool averages along one side: (n_windows, n_cells)."""
    means: Tensor = F.adaptive_avg_pool1d(torch.eye(n_cells).unsqueeze(0), n_windows)[0].T
    return means


def _pair(value: int | tuple[int, ...]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


_RULES: dict[type[nn.Module], Callable[..., Tensor]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.MaxPool2d: _max_pool,
    nn.AvgPool2d: _mean_pool,
    nn.AdaptiveAvgPool2d: _adaptive_mean_pool,
}
