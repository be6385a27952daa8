import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.metrics.rouge import rouge_l

words = st.lists(st.sampled_from("abc"), max_size=10)


def naive_length(first: list[str], second: list[str]) -> int:
    """Longest common subsequence by dynamic programming."""
    row = [0] * (len(second) + 1)
    for one in first:
        above = row[:]
        for j, other in enumerate(second, start=1):
            row[j] = above[j - 1] + 1 if one == other else max(above[j], row[j - 1])
    return row[-1]


def naive_score(hypothesis: list[str], references: list[list[str]]) -> float:
    common = [naive_length(hypothesis, reference) for reference in references]
    precision = max(c / len(hypothesis) if hypothesis else 0 for c in common)
    recall = max(c / len(r) if r else 0 for c, r in zip(common, references, strict=True))
    return 2.44 * precision * recall / (recall + 1.44 * precision) if precision and recall else 0.0


def test_hand_computed_f_measure() -> None:
    # police ... the gunman: three words in order, of four and of four
    score = rouge_l(["police kill the gunman"], [["police killed the gunman"]])
    assert score.corpus == pytest.approx(3 / 4)


def test_best_precision_and_best_recall_may_come_from_different_references() -> None:
    score = rouge_l(["a b c d"], [["a b c d e f g h", "a b"]])  # precision 1 from the first, recall 1 from the second
    assert score.corpus == pytest.approx(1.0)


def test_the_collection_scores_the_mean() -> None:
    assert rouge_l(["a b", "x"], [["a b"], ["y"]]).corpus == pytest.approx(0.5)


def test_an_empty_hypothesis_or_reference_scores_zero() -> None:
    assert rouge_l(["", "", "a"], [["a"], [""], [""]]).each.tolist() == [0.0, 0.0, 0.0]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=4)), min_size=1, max_size=6))
def test_scores_equal_dynamic_programming(images: list[tuple[list[str], list[list[str]]]]) -> None:
    each = rouge_l([image[0] for image in images], [image[1] for image in images]).each
    np.testing.assert_allclose(each, [naive_score(*image) for image in images], atol=1e-12)


@pytest.mark.parametrize("n_words", [64, 65, 150])
def test_long_sentences_equal_dynamic_programming(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    hypothesis, *own = (list(rng.choice(list("abcdefgh"), n)) for n in (n_words, 100, 30))
    assert rouge_l([hypothesis], [own]).corpus == pytest.approx(naive_score(hypothesis, own))
