"""From a gradient to a step: optimisers, the rate over time, clipping, and the moving average of the weights."""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from seesay.training.recipe import OptimiserRecipe


def build_optimiser(model: nn.Module, recipe: OptimiserRecipe) -> torch.optim.Optimizer:
    """The optimiser of a recipe over the weights of `model` that ask for a gradient.

    A model may name parts that learn at a share of the rate (`rate_scales`: part → share).
    Decay is for matrices only: shrinking a bias or the scale of a normalisation takes capacity and gives nothing back.

    Example:
        >>> optimiser = build_optimiser(nn.Linear(3, 2), OptimiserRecipe(name="sgd", rate=0.1, weight_decay=0.01))
        >>> [(len(group["params"]), group["weight_decay"]) for group in optimiser.param_groups]
        [(1, 0.01), (1, 0.0)]
    """
    scales: Mapping[str, float] = getattr(model, "rate_scales", {})
    groups: dict[tuple[bool, float], dict[str, Any]] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            is_matrix, scale = weight.ndim >= 2, scales.get(name.partition(".")[0], 1.0)
            decay = recipe.weight_decay if is_matrix else 0.0
            group = groups.setdefault(
                (not is_matrix, scale), {"params": [], "weight_decay": decay, "rate_scale": scale}
            )
            group["params"].append(weight)
    ordered = [groups[key] for key in sorted(groups)]
    match recipe.name:
        case "sgd":
            return torch.optim.SGD(ordered, lr=recipe.rate, momentum=recipe.momentum)
        case "rmsprop":
            return torch.optim.RMSprop(ordered, lr=recipe.rate, momentum=recipe.momentum)
        case "adam":
            return torch.optim.Adam(ordered, lr=recipe.rate)
        case _:
            return torch.optim.AdamW(ordered, lr=recipe.rate)


def rate_at(recipe: OptimiserRecipe, step: int, n_steps: int) -> float:
    """The learning rate of a step (from 0) of a run of `n_steps`: a pure function, so that a resumed run agrees.

    Example:
        >>> recipe = OptimiserRecipe(rate=1.0, schedule="linear", warmup=2)
        >>> [rate_at(recipe, step, n_steps=6) for step in range(6)]
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
        >>> recipe = OptimiserRecipe(rate=1.0, schedule="trapezoid", cooldown=2)
        >>> [rate_at(recipe, step, n_steps=5) for step in range(5)]
        [1.0, 1.0, 1.0, 1.0, 0.5]
    """
    if step < recipe.warmup:
        return recipe.rate * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, n_steps - recipe.warmup)
    match recipe.schedule:
        case "step":
            return float(recipe.rate * recipe.step_factor ** (step // recipe.step_every))
        case "cosine":
            return recipe.rate * 0.5 * (1 + math.cos(math.pi * done))
        case "trapezoid":
            return recipe.rate * min(1.0, (n_steps - step) / recipe.cooldown)
        case "linear":
            return recipe.rate * (1 - done)
        case _:
            return recipe.rate


def clip_gradients(parameters: Iterable[nn.Parameter], recipe: OptimiserRecipe) -> float:
    """Limit gradients in place, each element first and then their common norm; give the norm found before that.

    Example:
        >>> weight = nn.Parameter(torch.zeros(2))
        >>> weight.grad = torch.tensor([3.0, 4.0])
        >>> clip_gradients([weight], OptimiserRecipe(clip_norm=1.0)), weight.grad
        (5.0, tensor([0.6000, 0.8000]))
    """
    used = [parameter for parameter in parameters if parameter.grad is not None]
    norm = limited = _norm(used)
    if recipe.clip_value:
        nn.utils.clip_grad_value_(used, recipe.clip_value)
        limited = _norm(used)
    if recipe.clip_norm:
        nn.utils.clip_grads_with_norm_(used, recipe.clip_norm, limited)
    return float(norm)


def _norm(parameters: list[nn.Parameter]) -> Tensor:
    return nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])


class WeightAverage:
    """Exponential moving average of a model's weights.

    The decay starts low and rises to `decay`, (1 + n) / (10 + n) after n updates, so that the random weights of the
    beginning do not linger. Buffers (running statistics) are averages already and stay the model's own.

    Example:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> _ = nn.init.constant_(model.weight, 1.0)
        >>> average = WeightAverage(model, decay=0.999)
        >>> _ = nn.init.constant_(model.weight, 3.0)
        >>> average.update(model, n_updates=8)
        >>> with average.in_place_of(model):
        ...     model.weight.item()
        2.0
        >>> model.weight.item()
        3.0
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module, n_updates: int) -> None:
        """Move the average towards the model's weights; `n_updates` is how often that was done before."""
        decay = min(self.decay, (1 + n_updates) / (10 + n_updates))
        learned = [(self.weights[name], weight) for name, weight in model.named_parameters() if weight.requires_grad]
        averages: list[Tensor] = [average for average, _ in learned]
        torch._foreach_lerp_(averages, [weight.detach() for _, weight in learned], 1 - decay)

    @contextmanager
    def in_place_of(self, model: nn.Module) -> Iterator[None]:
        """Let the model compute with the averaged weights inside the `with` block."""
        own = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        self._put(model, self.weights)
        try:
            yield
        finally:
            self._put(model, own)

    @staticmethod
    @torch.no_grad()
    def _put(model: nn.Module, weights: dict[str, Tensor]) -> None:
        for name, weight in model.named_parameters():
            weight.copy_(weights[name])
