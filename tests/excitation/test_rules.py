"""Excitation backprop through layers: by hand, equal to one neuron at a time, and nothing made or lost."""

import pytest
import torch
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.excitation.rules import fold_batch_norm, propagate, run

NETWORKS = {
    "linear": (nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 4)), (3, 6)),
    "convolution": (nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 4, 3, 2)), (2, 2, 7, 6)),
    "depthwise": (nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=2)), (1, 4, 5, 5)),
    "max pool": (nn.Sequential(nn.MaxPool2d(3, 2), nn.Conv2d(2, 3, 1)), (2, 2, 7, 7)),
    "mean pool": (nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(2, 3, 2)), (2, 2, 6, 4)),
    "uneven mean pool": (nn.Sequential(nn.AdaptiveAvgPool2d((3, 2)), nn.Flatten(), nn.Linear(12, 3)), (2, 2, 7, 5)),
    "vgg": (
        nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 5, 3, padding=1), nn.ReLU6(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 4), nn.ReLU(),
        ),
        (2, 3, 8, 8),
    ),
}  # fmt: skip
each_network = pytest.mark.parametrize("name", NETWORKS)


def prepared(name: str, *, excited: bool = False) -> tuple[nn.Sequential, Tensor]:
    """A network with random weights, and an input; where `excited`, every neuron has a weight that excites it."""
    network, shape = NETWORKS[name]
    generator = torch.Generator().manual_seed(3)
    for weight in network.parameters():
        weight.data.normal_(0, 1, generator=generator)
        if excited:
            weight.data.abs_()
    return network.eval(), torch.rand(shape, generator=generator)


def prior_like(outputs: Tensor) -> Tensor:
    """All the probability on what is active, 1 for each example."""
    prior = outputs.relu() + 1e-3 * (outputs > 0)
    return prior / prior.flatten(1).sum(1).view(-1, *[1] * (prior.ndim - 1))


def connections(layer: nn.Module, a: Tensor) -> Tensor:
    """The weight from every input neuron of one example to every output neuron: (n_out, n_in)."""
    probe = a.clone().requires_grad_()
    outputs = layer(probe).flatten()
    rows = [torch.autograd.grad(output, probe, retain_graph=True)[0].flatten() for output in outputs]
    return torch.stack(rows)


def one_neuron_at_a_time(layers: nn.Sequential, x: Tensor, prior: Tensor) -> Tensor:
    """P(j) = Σ_i P(i) · a_j w⁺_ij / Σ_k a_k w⁺_ik, in loops over neurons, for one example after the other."""
    examples = []
    for number in range(len(x)):
        activations = run(layers, x[number : number + 1])
        above = prior[number].flatten()
        for layer, a in zip(reversed(list(layers)), reversed(activations[:-1]), strict=True):
            if not isinstance(layer, nn.Linear | nn.Conv2d | nn.AvgPool2d | nn.AdaptiveAvgPool2d | nn.MaxPool2d):
                continue
            weights, inputs = connections(layer, a).clamp(min=0), a.flatten()
            below = torch.zeros_like(inputs)
            for i, probability in enumerate(above):
                contributions = weights[i] * inputs
                if isinstance(layer, nn.MaxPool2d):
                    contributions = weights[i]  # 1 at the winner
                if contributions.sum() > 0:
                    below += probability * contributions / contributions.sum()
            above = below
        examples.append(above.view(x[number].shape))
    return torch.stack(examples)


@each_network
def test_it_equals_one_neuron_at_a_time(name: str) -> None:
    network, x = prepared(name)
    activations = run(network, x)
    prior = prior_like(activations[-1])
    found = propagate(list(network), activations, prior)[0]
    torch.testing.assert_close(found, one_neuron_at_a_time(network, x, prior), rtol=1e-4, atol=1e-6)


@each_network
def test_nothing_is_made_or_lost_at_any_layer(name: str) -> None:
    network, x = prepared(name, excited=True)
    activations = run(network, x)
    prior = prior_like(activations[-1])
    for probabilities in propagate(list(network), activations, prior):
        torch.testing.assert_close(probabilities.flatten(1).sum(1), torch.ones(len(x)))
        assert (probabilities >= 0).all()


def test_probability_is_shared_by_what_excites_and_bias_takes_no_part() -> None:
    layer = nn.Linear(3, 1)
    layer.weight.data = torch.tensor([[2.0, 1.0, -4.0]])
    layer.bias.data.fill_(9)
    found = propagate([layer], run([layer], torch.tensor([[1.0, 6.0, 5.0]])), torch.ones(1, 1))[0]
    torch.testing.assert_close(found, torch.tensor([[0.25, 0.75, 0.0]]))


def test_what_only_a_bias_excites_is_the_one_loss() -> None:
    layer = nn.Linear(2, 2)
    layer.weight.data = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    layer.bias.data = torch.tensor([0.0, 5.0])
    found = propagate([layer], run([layer], torch.ones(1, 2)), torch.tensor([[0.6, 0.4]]))[0]
    torch.testing.assert_close(found, torch.tensor([[0.3, 0.3]]))


def test_contributions_are_linear_in_the_prior() -> None:
    network, x = prepared("vgg")
    activations = run(network, x)
    one, other = torch.rand(2, *activations[-1].shape)
    joined = propagate(list(network), activations, one + 2 * other)[0]
    apart = propagate(list(network), activations, one)[0] + 2 * propagate(list(network), activations, other)[0]
    torch.testing.assert_close(joined, apart)


def test_needs_no_gradient() -> None:
    network, x = prepared("vgg")
    found = propagate(list(network), run(network, x), prior_like(network(x)))[0]
    assert not found.requires_grad
    assert all(weight.grad is None for weight in network.parameters())


@pytest.mark.parametrize(
    ("layer", "norm", "shape"),
    [(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), (2, 2, 5, 5)), (nn.Linear(2, 3), nn.BatchNorm1d(3), (4, 2))],
    ids=["convolution", "linear"],
)
def test_folding_a_batch_norm_changes_no_output(layer: nn.Module, norm: nn.BatchNorm2d, shape: tuple[int, ...]) -> None:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    network = nn.Sequential(layer, norm, nn.ReLU()).eval()
    x = torch.rand(shape)
    folded = fold_batch_norm(network)
    assert len(folded) == 2
    assert folded[0] is not layer
    torch.testing.assert_close(run(folded, x)[-1], network(x))


def test_a_batch_norm_that_was_not_folded_is_refused_with_what_to_do() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    with pytest.raises(SeesayError, match=r"no rule for BatchNorm1d(.|\n)*allowed: Linear(.|\n)*fold_batch_norm"):
        propagate(list(network), run(network, torch.rand(1, 2)), torch.ones(1, 2))


def test_negative_activations_are_refused() -> None:
    layer = nn.Linear(2, 1)
    with pytest.raises(SeesayError, match=r"a Linear is excited by negative numbers, down to -2(.|\n)*after a ReLU"):
        propagate([layer], run([layer], torch.tensor([[1.0, -2.0]])), torch.ones(1, 1))


def test_a_convolution_padded_by_reflection_is_refused() -> None:
    layer = nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")
    x = torch.rand(1, 1, 4, 4)
    with pytest.raises(SeesayError, match="padded by reflect"):
        propagate([layer], run([layer], x), torch.ones(1, 1, 4, 4))
