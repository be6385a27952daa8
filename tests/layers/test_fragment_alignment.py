"""DeFrag's objective by hand: which pairs of a region and a fragment are told to agree, and what they cost."""

import pytest
import torch
from torch import Tensor

from seesay.layers import fragment_alignment
from seesay.layers.fragment_alignment import fragment_cost, mean_of_positive
from seesay.layers.sequences import Sequences

OWN = torch.eye(2, dtype=torch.bool)


def fragments(*sentences: list[list[float]]) -> Sequences:
    """Sentences of fragments with two numbers each; what stands behind their end is far off."""
    longest = max(map(len, sentences))
    states = torch.tensor([sentence + [[99.0, -99.0]] * (longest - len(sentence)) for sentence in sentences])
    return Sequences(states, torch.ones(states.shape[:2], dtype=torch.int64), torch.tensor(list(map(len, sentences))))


def naive_score(regions: Tensor, texts: Sequences, smoothing: float) -> Tensor:
    scores = torch.zeros(len(regions), len(texts))
    for k, image in enumerate(regions):
        for text, length in enumerate(texts.lengths.tolist()):
            total = sum(max(0.0, float(v @ texts.states[text, j])) for v in image for j in range(length))
            scores[k, text] = total / (len(image) * (length + smoothing))
    return scores


def test_a_score_adds_what_fits_and_forgives_what_does_not() -> None:
    regions = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[-1.0, 0.0], [0.0, -1.0]]])
    texts = fragments([[2.0, -1.0]], [[1.0, 1.0], [0.0, 3.0], [-4.0, 0.0]])
    # The first image: 2 and nothing; 1 + 2, 6 and nothing. The second: 1 and nothing; nothing, nothing, 4.
    expected = torch.tensor([[2 / (2 * 6), 9 / (2 * 8)], [1 / (2 * 6), 4 / (2 * 8)]])
    torch.testing.assert_close(mean_of_positive(regions, texts), expected)


def test_short_sentences_gain_less_by_one_fragment_the_larger_n() -> None:
    regions, texts = torch.ones(1, 1, 2), fragments([[1.0, 1.0]], [[1.0, 1.0]] * 3)
    assert mean_of_positive(regions, texts, smoothing=0).tolist() == [[2.0, 2.0]]
    short, long = mean_of_positive(regions, texts, smoothing=3)[0].tolist()
    assert (short, long) == pytest.approx((2 / 4, 6 / 6))


@pytest.mark.parametrize("n_texts", [1, 4, 64])
def test_a_few_sentences_at_a_time_give_the_naive_loops(monkeypatch: pytest.MonkeyPatch, n_texts: int) -> None:
    monkeypatch.setattr(fragment_alignment, "_N_TEXTS", n_texts)
    generator = torch.Generator().manual_seed(0)
    regions = torch.randn(5, 4, 2, generator=generator)
    texts = fragments(*(torch.randn(n, 2, generator=generator).tolist() for n in (3, 1, 7, 2, 2, 5, 1)))
    torch.testing.assert_close(mean_of_positive(regions, texts), naive_score(regions, texts, 5.0))


def test_labels_follow_the_sign_in_the_own_image_and_are_minus_one_elsewhere() -> None:
    regions = torch.tensor([[[2.0, 0.0], [-3.0, 0.0]], [[0.5, 0.0], [-2.0, 0.0]]])
    texts = fragments([[1.0, 0.0]], [[0.5, 0.0]])
    # Fragment 1, products 2, −3 of its own image, .5, −2 of the other: y = 1, −1, −1, −1.
    # It lacks nothing of 1; of −1 it lacks 0, 1.5, 0: a mean of .5.
    # Fragment 2, products 1, −1.5 of the other, .25, −1 of its own: y = −1, −1, 1, −1; lacks 2, 0, 0 and .75.
    expected = (0.5 + (2 / 3 + 0.75)) / 2
    assert float(fragment_cost(regions, texts, OWN)) == pytest.approx(expected)


def test_a_fragment_that_fits_no_region_of_its_image_is_given_the_best_one() -> None:
    regions = torch.tensor([[[-0.5, 0.0], [-2.0, 0.0]], [[-3.0, 0.0], [-3.0, 0.0]]])
    texts = fragments([[1.0, 0.0]], [[0.0, 0.0]])
    # Fragment 1: −.5 has y = 1 and lacks 1.5, −2 and −3 lack nothing. Fragment 2: all products are 0: the first of
    # its image has y = 1 and lacks 1, the others lack 1 each.
    assert float(fragment_cost(regions, texts, OWN)) == pytest.approx((1.5 + 2.0) / 2)


def test_without_a_choice_all_regions_of_its_image_are_a_fragments() -> None:
    regions = torch.tensor([[[2.0, 0.0], [-3.0, 0.0]], [[-2.0, 0.0], [-2.0, 0.0]]])
    texts = fragments([[1.0, 0.0]], [[0.0, 0.0]])
    # Fragment 1: 2 lacks nothing and −3 lacks 4, a mean of 2; the other image lacks nothing. Fragment 2: 1 and 1.
    assert float(fragment_cost(regions, texts, OWN, choose=False)) == pytest.approx((2.0 + 2.0) / 2)


def test_another_sentence_of_an_image_is_its_own_too() -> None:
    regions = torch.tensor([[[2.0, 0.0]], [[2.0, 0.0]]])
    texts = fragments([[1.0, 0.0]], [[1.0, 0.0]])
    assert float(fragment_cost(regions, texts, torch.ones(2, 2, dtype=torch.bool))) == 0
    assert float(fragment_cost(regions, texts, OWN)) == pytest.approx(3.0)


def test_the_cost_teaches_regions_to_agree_with_their_own_fragments() -> None:
    regions = torch.tensor([[[0.1, 0.0]], [[0.0, 0.1]]]).requires_grad_()
    texts = fragments([[1.0, 0.0]], [[0.0, 1.0]])
    for _ in range(50):
        (slope,) = torch.autograd.grad(fragment_cost(regions, texts, OWN), regions)
        regions = (regions - 0.1 * slope).detach().requires_grad_()
    products = mean_of_positive(regions.detach(), texts, smoothing=0)
    assert (products.diagonal() > 0.9).all()
    assert float(products[0, 1]) == float(products[1, 0]) == 0
