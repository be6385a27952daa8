import math

import pytest
import torch
from torch import nn

from seesay.training.optimisation import WeightAverage, build_optimiser, clip_gradients, rate_at
from seesay.training.recipe import OptimiserRecipe


def one_weight(value=1.0):
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, value)
    return model


@pytest.mark.parametrize(
    ("recipe", "after_two_steps"),
    [
        (OptimiserRecipe(name="sgd", rate=0.1), 1 - 0.1 * 2 - 0.1 * 2),
        (OptimiserRecipe(name="sgd", rate=0.1, momentum=0.5), 1 - 0.1 * 2 - 0.1 * 3),
        (OptimiserRecipe(name="sgd", rate=0.1, weight_decay=0.5), (1 * 0.95 - 0.2) * 0.95 - 0.2),
        (OptimiserRecipe(name="rmsprop", rate=0.1), 1 - 0.1 * 2 / 0.2 - 0.1 * 2 / math.sqrt(0.99 * 0.04 + 0.04)),
        (OptimiserRecipe(name="adam", rate=0.1), 0.8),
        (OptimiserRecipe(name="adamw", rate=0.1, weight_decay=0.5), (1 * 0.95 - 0.1) * 0.95 - 0.1),
    ],
)
def test_two_steps_on_a_constant_gradient_of_two(recipe, after_two_steps):
    model = one_weight()
    optimiser = build_optimiser(model, recipe)
    for _ in range(2):
        model.weight.grad = torch.full((1, 1), 2.0)
        optimiser.step()
    assert model.weight.item() == pytest.approx(after_two_steps, abs=1e-5)


def test_frozen_weights_are_left_out_and_biases_do_not_decay():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].weight.requires_grad = False
    groups = build_optimiser(model, OptimiserRecipe(name="adamw", weight_decay=0.1)).param_groups
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    assert [id(weight) for weight in groups[0]["params"]] == [id(model[1].weight)]
    assert len(groups[1]["params"]) == 2


def test_a_step_schedule_multiplies_the_rate_as_the_identifier_paper_does():
    recipe = OptimiserRecipe(rate=1e-3, schedule="step", step_every=4096, step_factor=0.96)
    rates = [rate_at(recipe, step, 40_000) for step in (0, 4095, 4096, 8192)]
    assert rates == pytest.approx([1e-3, 1e-3, 0.96e-3, 0.96**2 * 1e-3])


def test_cosine_falls_from_the_rate_to_nothing_after_the_warm_up():
    recipe = OptimiserRecipe(rate=2.0, schedule="cosine", warmup=4)
    rates = [rate_at(recipe, step, 12) for step in range(13)]
    assert rates[:4] == [0.5, 1.0, 1.5, 2.0]
    assert rates[4] == 2.0
    assert rates[8] == pytest.approx(1.0)
    assert rates[12] == pytest.approx(0.0)
    assert rates[4:] == sorted(rates[4:], reverse=True)


def test_a_run_shorter_than_its_warm_up_keeps_climbing():
    recipe = OptimiserRecipe(rate=1.0, schedule="linear", warmup=10)
    assert [rate_at(recipe, step, 3) for step in range(3)] == pytest.approx([0.1, 0.2, 0.3])


def gradients(*values):
    weights = [nn.Parameter(torch.zeros(len(value))) for value in values]
    for weight, value in zip(weights, values, strict=True):
        weight.grad = torch.tensor(value)
    return weights


def test_norm_clipping_shortens_the_common_gradient_and_keeps_its_direction():
    weights = gradients([3.0], [0.0, 4.0])
    assert clip_gradients(weights, OptimiserRecipe(clip_norm=2.5)) == 5.0
    assert torch.cat([weight.grad for weight in weights]).tolist() == pytest.approx([1.5, 0.0, 2.0], abs=1e-5)


def test_short_gradients_are_not_stretched():
    weights = gradients([0.3, 0.4])
    clip_gradients(weights, OptimiserRecipe(clip_norm=2.5))
    assert weights[0].grad.tolist() == pytest.approx([0.3, 0.4])


def test_value_clipping_limits_each_element_on_its_own():
    weights = gradients([3.0, -0.5, -9.0])
    assert clip_gradients(weights, OptimiserRecipe(clip_value=1.0)) == pytest.approx(math.sqrt(90.25))
    assert weights[0].grad.tolist() == [1.0, -0.5, -1.0]


def test_value_clipping_comes_before_norm_clipping():
    weights = gradients([100.0, 1.0])
    clip_gradients(weights, OptimiserRecipe(clip_value=1.0, clip_norm=1.0))
    assert weights[0].grad.tolist() == pytest.approx([math.sqrt(0.5)] * 2, abs=1e-5)


def test_weights_without_a_gradient_do_not_disturb_clipping():
    assert clip_gradients([nn.Parameter(torch.zeros(2))], OptimiserRecipe(clip_norm=1.0)) == 0.0


def test_the_average_moves_by_its_decay_once_it_is_warm():
    model = one_weight(0.0)
    average = WeightAverage(model, decay=0.9)
    nn.init.constant_(model.weight, 1.0)
    average.update(model, n_updates=1000)
    assert average.weights["weight"].item() == pytest.approx(0.1, abs=1e-6)
    average.update(model, n_updates=1001)
    assert average.weights["weight"].item() == pytest.approx(0.19, abs=1e-6)


def test_the_model_gets_its_own_weights_back_even_after_an_error():
    model = one_weight(5.0)
    average = WeightAverage(model, decay=0.9)
    nn.init.constant_(model.weight, 7.0)
    with pytest.raises(RuntimeError, match="1x5"), average.in_place_of(model):
        model(torch.zeros(1, int(model.weight.item())))  # five columns where one is wanted
    assert model.weight.item() == 7.0
    assert average.weights["weight"].item() == 5.0
