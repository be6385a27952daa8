from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.metrics.retrieval import (
    ranks,
    ranks_from_blocks,
    recall_curves,
    retrieval_report,
    summarize_ranks,
)

examples = settings(deadline=None, max_examples=40)


def naive_ranks(scores: np.ndarray, text_to_image: Sequence[int]) -> tuple[list[int], list[int]]:
    """Wrong answers at or above the best correct one, one comparison at a time."""
    n_images, n_texts = scores.shape
    i2t = []
    for image in range(n_images):
        best = max(scores[image, text] for text in range(n_texts) if text_to_image[text] == image)
        i2t.append(sum(text_to_image[t] != image and scores[image, t] >= best for t in range(n_texts)))
    t2i = []
    for text in range(n_texts):
        own = text_to_image[text]
        t2i.append(sum(i != own and scores[i, text] >= scores[own, text] for i in range(n_images)))
    return i2t, t2i


def random_task(n_images: int, seed: int, n_values: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Few different values, so that many scores tie; one to four texts per image, in no order."""
    rng = np.random.default_rng(seed)
    owners = rng.permutation(np.repeat(np.arange(n_images), rng.integers(1, 5, n_images)))
    return rng.integers(0, n_values, (n_images, len(owners))).astype(np.float32), owners


def test_hand_computed_report_with_two_sentences_per_image() -> None:
    scores = [
        [0.9, 0.2, 0.8, 0.7],  # image 0 owns texts 0 and 1: the first comes up first
        [0.6, 0.5, 0.4, 0.3],  # image 1 owns texts 2 and 3: two wrong ones stand before
    ]
    report = retrieval_report(scores, [0, 0, 1, 1])
    assert report["i2t"] == {"r1": 50.0, "r5": 100.0, "r10": 100.0, "median": 2.0, "mean": 2.0}
    assert report["t2i"] == {"r1": 25.0, "r5": 100.0, "r10": 100.0, "median": 2.0, "mean": 1.75}
    assert report["sum"] == 50 + 100 + 100 + 25 + 100 + 100


def test_recall_counts_ranks_one_to_k() -> None:
    assert summarize_ranks(np.array([0, 1, 4, 5, 9, 10])) == {
        "r1": pytest.approx(100 / 6),
        "r5": pytest.approx(50),
        "r10": pytest.approx(500 / 6),
        "median": 5.5,
        "mean": pytest.approx(29 / 6 + 1),
    }


def test_constant_scores_rank_last() -> None:
    found = ranks(np.zeros((3, 6)), [0, 0, 1, 1, 2, 2])
    assert found.i2t.tolist() == [4, 4, 4]
    assert found.t2i.tolist() == [2] * 6


def test_a_tie_with_a_wrong_answer_costs_a_rank_and_a_tie_with_a_right_one_does_not() -> None:
    assert ranks([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 0, 1]).i2t.tolist() == [0, 0]
    assert ranks([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], [0, 0, 1]).i2t.tolist() == [1, 0]


def test_minus_infinity_is_a_score_like_any_other() -> None:
    found = ranks([[-np.inf, -np.inf], [0.0, -np.inf]], [0, 1])
    assert found.i2t.tolist() == [1, 1]
    assert found.t2i.tolist() == [1, 1]


@examples
@given(st.integers(1, 30), st.integers(0, 10_000))
def test_ranks_equal_a_naive_loop(n_images: int, seed: int) -> None:
    scores, owners = random_task(n_images, seed)
    i2t, t2i = naive_ranks(scores, owners)
    found = ranks(scores, owners)
    assert found.i2t.tolist() == i2t
    assert found.t2i.tolist() == t2i


@examples
@given(st.integers(1, 40), st.integers(0, 10_000), st.integers(1, 50))
def test_chunked_equals_full(n_images: int, seed: int, block_size: int) -> None:
    scores, owners = random_task(n_images, seed)
    full = ranks(scores, owners)
    chunked = ranks_from_blocks(lambda i, t: scores[np.ix_(i, t)], n_images, owners, block_size=block_size)
    assert chunked.i2t.tolist() == full.i2t.tolist()
    assert chunked.t2i.tolist() == full.t2i.tolist()


def test_no_block_is_larger_than_asked_for_and_little_is_computed_twice() -> None:
    scores, owners = random_task(300, seed=1)
    shapes = []

    def score_block(images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        shapes.append((len(images), len(texts)))
        return scores[np.ix_(images, texts)]

    done: list[tuple[int, int]] = []
    ranks_from_blocks(score_block, 300, owners, block_size=64, on_progress=lambda *step: done.append(step))
    assert max(max(shape) for shape in shapes) <= 64
    assert sum(images * texts for images, texts in shapes) < 1.1 * scores.size
    assert done == [(64, 300), (128, 300), (192, 300), (256, 300), (300, 300)]


def test_a_correct_pair_is_never_its_own_rival_even_if_blocks_round_differently() -> None:
    calls = iter(range(1000))

    def score_block(images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        return (images[:, None] == texts).astype(float) + next(calls) * 1e-12  # a little higher at every call

    found = ranks_from_blocks(score_block, 5, range(5), block_size=2)
    assert found.i2t.tolist() == found.t2i.tolist() == [0] * 5


@examples
@given(st.integers(2, 12), st.integers(0, 1000))
def test_images_in_another_order_have_the_same_ranks(n_images: int, seed: int) -> None:
    scores, owners = random_task(n_images, seed, n_values=9)
    order = np.random.default_rng(seed).permutation(n_images)
    place = np.argsort(order)
    shuffled = ranks(scores[order], place[owners])
    assert shuffled.i2t.tolist() == ranks(scores, owners).i2t[order].tolist()
    assert shuffled.t2i.tolist() == ranks(scores, owners).t2i.tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64])
def test_tensors_give_what_arrays_give(dtype: torch.dtype) -> None:
    scores, owners = random_task(20, seed=3)
    tensor = torch.from_numpy(scores).to(dtype)
    if tensor.is_floating_point():
        tensor.requires_grad_()
    assert retrieval_report(tensor, torch.from_numpy(owners)) == retrieval_report(scores, owners)


def test_recall_curve_by_hand() -> None:
    scores = [[4.0, 1.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0]]
    curves = recall_curves(scores, [0, 0, 1, 1])
    assert curves["i2t"].retrieved.tolist() == [0, 25, 50, 75, 100]
    assert curves["i2t"].matches.tolist() == [0, 1, 1.5, 1.5, 2]
    assert curves["i2t"].recall.tolist() == [0, 50, 75, 75, 100]
    assert curves["t2i"].retrieved.tolist() == [0, 50, 100]
    assert curves["t2i"].recall.tolist() == [0, 50, 100]


@examples
@given(st.integers(1, 15), st.integers(0, 1000))
def test_recall_curve_equals_a_sorted_list_with_wrong_answers_first(n_images: int, seed: int) -> None:
    scores, owners = random_task(n_images, seed)
    curve = recall_curves(scores, owners, n_points=scores.shape[1] + 1)["i2t"]
    recall = np.zeros((n_images, scores.shape[1] + 1))
    for image in range(n_images):
        is_own = (owners == image).astype(int)
        hits = is_own[np.lexsort((is_own, -scores[image]))]
        recall[image, 1:] = np.cumsum(hits) / hits.sum()
    np.testing.assert_allclose(curve.recall, 100 * recall.mean(0))
    assert curve.matches[-1] == pytest.approx(scores.shape[1] / n_images)


def test_recall_curve_of_constant_scores_stays_below_chance() -> None:
    curve = recall_curves(np.ones((10, 10)), range(10), n_points=11)["i2t"]
    assert curve.recall.tolist() == [0.0] * 10 + [100.0]


def test_nan_is_refused_by_place() -> None:
    scores = np.zeros((300, 300))
    scores[270, 5] = np.nan
    with pytest.raises(SeesayError, match="row 270, column 5 is NaN"):
        ranks(scores, range(300))
    with pytest.raises(SeesayError, match="row 270, column 5 is NaN"):
        ranks_from_blocks(lambda i, t: scores[np.ix_(i, t)], 300, range(300), block_size=100)
    with pytest.raises(SeesayError, match="row 270, column 5 is NaN"):
        recall_curves(scores, range(300))


@pytest.mark.parametrize(
    ("scores", "owners", "message"),
    [
        (np.zeros((2, 3)), [0, 1], "2 entries"),
        (np.zeros((2, 3)), [0, 1, 2], "holds 2"),
        (np.zeros((2, 3)), [0, 1, -1], "holds -1"),
        (np.zeros((2, 3)), [0.0, 1.0, 1.0], "float64"),
        (np.zeros((3, 3)), [0, 0, 2], "image 1 has no text"),
        (np.zeros(3), [0, 0, 0], "shape \\(3,\\)"),
        ([["a"]], [0], "<U1"),
        ([[1.0], [1.0, 2.0]], [0, 1], "not a rectangular array"),
        (np.zeros((0, 0)), [], "no query"),
    ],
)
def test_impossible_inputs_are_refused_by_name(scores: object, owners: list[int], message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        retrieval_report(scores, owners)


def test_blocks_of_another_shape_are_refused() -> None:
    with pytest.raises(SeesayError, match="shape \\(3, 3\\)"):
        ranks_from_blocks(lambda i, t: np.zeros((3, 3)), 2, [0, 1])
    with pytest.raises(SeesayError, match="block of 0"):
        ranks_from_blocks(lambda i, t: np.zeros((2, 2)), 2, [0, 1], block_size=0)
    with pytest.raises(SeesayError, match="1 points"):
        recall_curves([[1.0]], [0], n_points=1)
