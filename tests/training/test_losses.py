import math

import pytest
import torch

from seesay.training.losses import batch_softmax, hinge_hardest, hinge_sum, ranking_loss
from seesay.training.recipe import LossRecipe

EYE = torch.eye(3, dtype=torch.bool)
# Two images; texts 0 and 1 belong to image 0, text 2 to image 1.
TWO_CAPTIONS = torch.tensor([[True, True, False], [False, False, True]])
SCORES = torch.tensor([[0.6, 0.1, 0.5], [0.4, 0.0, 0.7]])

LOSSES = [
    lambda scores, positives: hinge_sum(scores, positives, 0.2),
    lambda scores, positives: hinge_hardest(scores, positives, 0.2),
    lambda scores, positives: batch_softmax(scores, positives, 0.3),
]


def naive_hinges(scores, positives, margin, reduce):
    costs = []
    for i, t in positives.nonzero().tolist():
        texts = [max(0, margin - scores[i, t] + scores[i, k]) for k in range(scores.shape[1]) if not positives[i, k]]
        images = [max(0, margin - scores[i, t] + scores[k, t]) for k in range(scores.shape[0]) if not positives[k, t]]
        costs.append(reduce([0.0, *texts]) + reduce([0.0, *images]))
    return sum(costs) / len(costs)


def naive_softmax(scores, positives, temperature):
    directions = []
    for matrix, mask in ((scores / temperature, positives), (scores.T / temperature, positives.T)):
        rows = []
        for row, own in zip(matrix.tolist(), mask.tolist(), strict=True):
            negatives = sum(math.exp(score) for score, is_own in zip(row, own, strict=True) if not is_own)
            costs = [
                -math.log(math.exp(s) / (math.exp(s) + negatives)) for s, is_own in zip(row, own, strict=True) if is_own
            ]
            if costs:
                rows.append(sum(costs) / len(costs))
        directions.append(sum(rows) / len(rows))
    return sum(directions) / 2


def test_hinge_sum_of_a_toy_worked_out_by_hand():
    # pair (0, 0): text 2 costs .2-.6+.5 = .1; image 1 costs .2-.6+.4 = 0
    # pair (0, 1): text 2 costs .2-.1+.5 = .6; image 1 costs .2-.1+.0 = .1
    # pair (1, 2): text 0 costs .2-.7+.4 < 0, text 1 < 0; image 0 costs .2-.7+.5 = 0
    assert hinge_sum(SCORES, TWO_CAPTIONS, 0.2).item() == pytest.approx((0.1 + 0.7) / 3, abs=1e-6)


def test_hinge_hardest_takes_the_worst_negative_only():
    scores = torch.tensor([[1.0, 0.9, 1.1], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    # pair (0, 0): texts cost .1 and .3; pair (1, 1): image 0 costs .1; pair (2, 2): image 0 costs .3
    assert hinge_hardest(scores, EYE, 0.2).item() == pytest.approx((0.3 + 0.1 + 0.3) / 3, abs=1e-6)
    assert hinge_sum(scores, EYE, 0.2).item() == pytest.approx((0.1 + 0.3 + 0.1 + 0.3) / 3, abs=1e-6)


def test_softmax_with_one_caption_an_image_is_symmetric_cross_entropy():
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    target = torch.arange(5)
    logits = scores / 0.07
    cross_entropy = torch.nn.functional.cross_entropy
    expected = 0.5 * (cross_entropy(logits, target) + cross_entropy(logits.T, target))
    assert batch_softmax(scores, torch.eye(5, dtype=torch.bool), 0.07).item() == pytest.approx(
        expected.item(), rel=1e-5
    )


@pytest.mark.parametrize("seed", range(5))
def test_all_losses_equal_a_naive_loop(seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(4, 7, generator=generator, dtype=torch.float64)
    positives = torch.rand(4, 7, generator=generator) < 0.3
    positives[0, 0] = True
    assert hinge_sum(scores, positives, 0.5).item() == pytest.approx(naive_hinges(scores, positives, 0.5, sum))
    assert hinge_hardest(scores, positives, 0.5).item() == pytest.approx(naive_hinges(scores, positives, 0.5, max))
    assert batch_softmax(scores, positives, 0.5).item() == pytest.approx(naive_softmax(scores, positives, 0.5))


@pytest.mark.parametrize("loss", LOSSES)
def test_another_caption_of_the_same_image_is_never_a_negative(loss):
    only_own = torch.tensor([[0.9, 0.1]], requires_grad=True)
    value = loss(only_own, torch.tensor([[True, True]]))
    value.backward()
    assert value.item() == 0
    assert only_own.grad.tolist() == [[0, 0]]


@pytest.mark.parametrize("loss", LOSSES)
def test_positive_pairs_are_pulled_together_and_negatives_pushed_apart(loss):
    scores = SCORES.clone().requires_grad_()
    loss(scores, TWO_CAPTIONS).backward()
    assert (scores.grad[TWO_CAPTIONS] <= 0).all()
    assert (scores.grad[~TWO_CAPTIONS] >= 0).all()
    assert scores.grad.abs().sum() > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_equal_finite_differences(loss):
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(4, 6, generator=generator, dtype=torch.float64).requires_grad_()
    positives = torch.zeros(4, 6, dtype=torch.bool)
    positives[[0, 0, 1, 2, 3, 3], range(6)] = True
    assert torch.autograd.gradcheck(lambda s: loss(s, positives), scores)


def test_a_learned_temperature_gets_its_gradient():
    temperature = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    scores = SCORES.double()
    assert torch.autograd.gradcheck(lambda t: batch_softmax(scores, TWO_CAPTIONS, t), temperature)


def test_softmax_stays_finite_for_scores_far_apart():
    scores = torch.tensor([[300.0, -300.0], [300.0, -300.0]], requires_grad=True)
    value = batch_softmax(scores, torch.eye(2, dtype=torch.bool), 0.01)
    value.backward()
    assert math.isfinite(value.item())
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("name", ["hinge-sum", "hinge-hardest", "softmax"])
def test_a_recipe_names_its_loss_with_margin_and_temperature(name):
    chosen = ranking_loss(LossRecipe(name=name, margin=0.4, temperature=0.6))(SCORES, TWO_CAPTIONS)
    expected = {
        "hinge-sum": hinge_sum(SCORES, TWO_CAPTIONS, 0.4),
        "hinge-hardest": hinge_hardest(SCORES, TWO_CAPTIONS, 0.4),
        "softmax": batch_softmax(SCORES, TWO_CAPTIONS, 0.6),
    }
    assert torch.equal(chosen, expected[name])


@pytest.mark.parametrize("loss", LOSSES)
def test_inputs_that_make_no_sense_are_refused(loss):
    with pytest.raises(ValueError, match="one shape"):
        loss(torch.zeros(2, 3), torch.eye(2, dtype=torch.bool))
    with pytest.raises(ValueError, match="of bool"):
        loss(torch.zeros(2, 2), torch.eye(2))
    with pytest.raises(ValueError, match="without a positive"):
        loss(torch.zeros(2, 2), torch.zeros(2, 2, dtype=torch.bool))
