"""Sum-of-max scores: equal to the naive double loop whatever the blocks, without a trace of padding."""

import pytest
import torch
from torch import Tensor

from seesay.layers import alignment_score
from seesay.layers.alignment_score import sum_of_max
from seesay.layers.sequences import Sequences


def made_up(n_images: int = 7, n_regions: int = 4, n_texts: int = 9, dim: int = 5) -> tuple[Tensor, Sequences]:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 8, (n_texts,), generator=generator)
    states = torch.randn(n_texts, int(lengths.max()), dim, generator=generator)
    words = torch.ones(states.shape[:2], dtype=torch.int64)
    return torch.randn(n_images, n_regions, dim, generator=generator), Sequences(states, words, lengths)


def naive(regions: Tensor, texts: Sequences, mask: Tensor | None = None) -> Tensor:
    """Eq. 1, read aloud."""
    scores = torch.zeros(len(regions), len(texts))
    for k, picture in enumerate(regions):
        present = picture if mask is None else picture[mask[k]]
        for text, length in enumerate(texts.lengths.tolist()):
            for t in range(length):
                scores[k, text] += max(float(v @ texts.states[text, t]) for v in present)
    return scores


@pytest.mark.parametrize("block", [1, 64, 400, 1 << 20])
@pytest.mark.parametrize("n_words", [1, 6, 1024])
def test_every_block_size_gives_the_naive_double_loop(
    monkeypatch: pytest.MonkeyPatch, block: int, n_words: int
) -> None:
    monkeypatch.setattr(alignment_score, "_WORDS", n_words)
    regions, texts = made_up()
    torch.testing.assert_close(sum_of_max(regions, texts, block=block), naive(regions, texts))


@pytest.mark.parametrize("wants_gradients", [True, False])
def test_absent_regions_are_never_chosen(wants_gradients: bool) -> None:
    regions, texts = made_up()
    mask = torch.rand(regions.shape[:2], generator=torch.Generator().manual_seed(1)) < 0.6
    mask[:, 2] = True
    expected = naive(regions, texts, mask)
    regions[~mask] = 1e3  # whatever stands there
    found = sum_of_max(regions.requires_grad_(wants_gradients), texts, mask=mask)
    torch.testing.assert_close(found.detach(), expected)


def test_what_stands_behind_the_end_of_a_sentence_has_no_part() -> None:
    regions, texts = made_up()
    expected = sum_of_max(regions, texts)
    texts.states[~texts.mask] = 1e3
    assert torch.equal(sum_of_max(regions, texts), expected)


def test_with_gradients_the_scores_are_the_same_and_only_the_best_region_learns() -> None:
    regions, texts = made_up(n_images=1, n_texts=1)
    expected = sum_of_max(regions, texts)
    regions.requires_grad_()
    scores = sum_of_max(regions, texts)
    torch.testing.assert_close(scores.detach(), expected)
    scores.sum().backward()
    words = texts.states[0, : texts.lengths[0]]
    best = (regions[0].detach() @ words.T).argmax(0)
    gradient = torch.zeros_like(regions[0]).index_add(0, best, words)
    torch.testing.assert_close(regions.grad, gradient[None])


def test_no_picture_and_no_sentence_are_matrices_without_rows_or_columns() -> None:
    regions, texts = made_up()
    assert sum_of_max(regions[:0], texts).shape == (0, 9)
    assert sum_of_max(regions, texts[:0]).shape == (7, 0)
