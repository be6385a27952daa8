"""Attention under a context: what the published equations cannot do, and what theirs in the joint form do."""

import pytest
import torch

from seesay.layers.attention import ContextAttention, Side, unevenness


def side(n: int = 2, n_parts: int = 5, dim: int = 6, seed: int = 0) -> Side:
    generator = torch.Generator().manual_seed(seed)
    parts, context = torch.randn(n, n_parts, dim, generator=generator), torch.randn(n, dim, generator=generator)
    return Side(parts, context)


def attention(form: str, *, context: bool = True) -> ContextAttention:
    torch.manual_seed(1)
    return ContextAttention(6, 4, 3, context=context, form=form)


def saliency(layer: ContextAttention, given: Side, h: torch.Tensor | None) -> torch.Tensor:
    return layer(*layer.prepare(given), h).softmax(-1)


class TestForms:
    def test_the_published_form_gives_the_same_map_whatever_was_compared_before(self) -> None:
        layer, given = attention("paper"), side()
        maps = [saliency(layer, given, h) for h in (None, torch.zeros(2, 4), torch.randn(2, 4), 9 * torch.ones(2, 4))]
        for other in maps[1:]:
            torch.testing.assert_close(other, maps[0])

    def test_the_published_form_gives_the_same_map_under_any_context(self) -> None:
        layer, given = attention("paper"), side()
        other = Side(given.parts, torch.randn(2, 6))
        torch.testing.assert_close(saliency(layer, other, None), saliency(layer, given, None))

    def test_the_joint_form_looks_elsewhere_after_a_comparison_and_under_another_context(self) -> None:
        layer, given = attention("joint"), side()
        first, second = saliency(layer, given, None), saliency(layer, given, torch.randn(2, 4))
        assert (first - second).abs().max() > 1e-3
        assert (first - saliency(layer, Side(given.parts, torch.randn(2, 6)), None)).abs().max() > 1e-3

    def test_the_joint_form_is_one_hidden_layer_on_everything_together(self) -> None:
        layer, given, h = attention("joint"), side(), torch.randn(2, 4)
        together = (
            given.parts @ layer.W_a.weight.T
            + layer.W_a.bias
            + (given.context @ layer.W_m.weight.T + h @ layer.W_h.weight.T).unsqueeze(1)
        )
        expected = together.sigmoid() @ layer.w_p.weight[0]
        torch.testing.assert_close(layer(*layer.prepare(given), h), expected)

    @pytest.mark.parametrize("form", ["joint", "paper"])
    def test_nothing_compared_yet_is_a_state_of_zeros(self, form: str) -> None:
        layer, given = attention(form), side()
        torch.testing.assert_close(saliency(layer, given, None), saliency(layer, given, torch.zeros(2, 4)))

    def test_without_context_the_whole_does_not_count(self) -> None:
        layer, given = attention("joint", context=False), side()
        other = Side(given.parts, torch.randn(2, 6))
        torch.testing.assert_close(saliency(layer, other, None), saliency(layer, given, None))


class TestUnevenness:
    def test_the_printed_regulariser_is_a_constant_without_a_gradient(self) -> None:
        logits = torch.randn(3, 7, dtype=torch.double, requires_grad=True)
        printed = (1 - logits.softmax(-1).sum(0)).sum()
        torch.testing.assert_close(printed, torch.tensor(7 - 3.0, dtype=torch.double))
        (gradient,) = torch.autograd.grad(printed, logits)
        torch.testing.assert_close(gradient, torch.zeros_like(gradient))

    def test_the_squared_one_moves_attention_away_from_what_was_looked_at(self) -> None:
        logits = torch.tensor([[2.0, 0, 0], [2.0, 0, 0]], requires_grad=True)
        (gradient,) = torch.autograd.grad(unevenness(logits.softmax(-1)), logits)
        assert (gradient[:, 0] > 0).all()
        assert (gradient[:, 1:] < 0).all()

    def test_padding_costs_nothing(self) -> None:
        saliency = torch.tensor([[0.75, 0.25, 0.0]])
        mask = torch.tensor([True, True, False])
        torch.testing.assert_close(unevenness(saliency, mask), torch.tensor(0.25**2 + 0.75**2))


def test_rows_of_a_side_lose_the_padding_that_none_of_them_needs() -> None:
    whole = Side(torch.ones(2, 4, 3), torch.ones(2, 3), torch.tensor([[True] * 4, [True] * 2 + [False] * 2]))
    short = whole[torch.tensor([1])]
    assert short.parts.shape == (1, 2, 3)
    torch.testing.assert_close(whole.evenly, torch.tensor([[0.25] * 4, [0.5, 0.5, 0, 0]]))
