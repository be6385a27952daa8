"""Pooling leaves out what is padding and weighs what is not."""

import pytest
import torch

from seesay.layers.pooling import AttentionPool, masked_max, masked_mean


@pytest.fixture
def padded() -> tuple[torch.Tensor, torch.Tensor, list[int]]:
    """Three sequences of lengths 4, 1 and 3; the padding is large, so that it would be noticed."""
    lengths = [4, 1, 3]
    x = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0)) - 2  # mostly below zero
    mask = torch.arange(4) < torch.tensor(lengths).unsqueeze(1)
    return x.masked_fill(~mask.unsqueeze(-1), 1e6), mask, lengths


def test_masked_max_and_mean_equal_those_of_each_sequence_alone(
    padded: tuple[torch.Tensor, torch.Tensor, list[int]],
) -> None:
    x, mask, lengths = padded
    for row, length in enumerate(lengths):
        torch.testing.assert_close(masked_max(x, mask)[row], x[row, :length].amax(0))
        torch.testing.assert_close(masked_mean(x, mask)[row], x[row, :length].mean(0))


@pytest.mark.parametrize("pool", [masked_max, masked_mean])
def test_no_gradient_reaches_the_padding(pool, padded: tuple[torch.Tensor, torch.Tensor, list[int]]) -> None:
    x, mask, _ = padded
    x.requires_grad_()
    pool(x, mask).sum().backward()
    assert x.grad is not None
    assert (x.grad[~mask] == 0).all()
    assert torch.isfinite(x.grad).all()
    torch.testing.assert_close(x.grad.sum(), torch.tensor(15.0))


def test_attention_that_knows_nothing_is_the_mean() -> None:
    pool = AttentionPool(4)
    torch.nn.init.zeros_(pool.queries.weight)
    x = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(pool(x), x.mean(1))


def test_each_head_takes_the_members_that_it_scores_highest() -> None:
    pool = AttentionPool(2, heads=2)
    pool.queries.weight.data = torch.tensor([[50.0, 0.0], [0.0, 50.0]])
    x = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]]])
    torch.testing.assert_close(pool(x), torch.tensor([[1.0, 0.0, 0.0, 2.0]]))


def test_attention_weighs_by_the_softmax_of_its_scores() -> None:
    pool = AttentionPool(1)
    pool.queries.weight.data = torch.tensor([[1.0]])
    three = torch.tensor(3.0).log()
    x = torch.stack([three, three * 0]).reshape(1, 2, 1)  # weights 3/4 and 1/4
    torch.testing.assert_close(pool(x), (three * 0.75).reshape(1, 1))


def test_attention_does_not_depend_on_the_order_of_the_members() -> None:
    torch.manual_seed(0)
    pool, x = AttentionPool(4, heads=3), torch.randn(2, 6, 4)
    torch.testing.assert_close(pool(x[:, [3, 1, 5, 0, 2, 4]]), pool(x))
    assert pool(x).shape == (2, 12)
