import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.metrics.bleu import bleu, pair_bleu
from seesay.metrics.sentences import References

examples = settings(deadline=None, max_examples=60)
words = st.lists(st.sampled_from("abc"), max_size=9)


def naive_counts(hypothesis: list[str], references: list[list[str]]) -> list[tuple[int, int]]:
    """Clipped matches and n-grams of the hypothesis, for n from 1 to 4."""

    def ngrams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    counts = []
    for n in range(1, 5):
        own = ngrams(hypothesis, n)
        clipped = sum(min(c, max(ngrams(r, n)[gram] for r in references)) for gram, c in own.items())
        counts.append((clipped, sum(own.values())))
    return counts


def test_hand_computed_precisions() -> None:
    score = bleu(["the cat the cat on the mat"], [["the cat is on the mat", "there is a cat on the mat"]])
    p1 = 5 / 7  # "the" thrice, clipped to 2; "cat" twice, clipped to 1; "on"; "mat"
    p2 = 4 / 6  # "the cat" twice, clipped to 1; "cat on"; "on the"; "the mat"
    p3 = 2 / 5  # "cat on the"; "on the mat"
    p4 = 1 / 4  # "cat on the mat"
    expected = [p1, (p1 * p2) ** (1 / 2), (p1 * p2 * p3) ** (1 / 3), (p1 * p2 * p3 * p4) ** (1 / 4)]
    np.testing.assert_allclose(score.corpus, expected, atol=1e-8)
    np.testing.assert_allclose(score.each[0], score.corpus)


def test_repetition_is_clipped_at_the_largest_count_of_one_reference() -> None:
    score = bleu(["the the the the the the the"], [["the cat is on the mat", "the dog"]])
    assert score.each[0, 0] == pytest.approx(2 / 7)


def test_the_closest_reference_length_counts_and_the_shorter_of_two_as_close() -> None:
    hypothesis = "a b c d e"
    longer_only, as_close = [["a b c d e f g h", "a b c d e f g"]], [["a b c d e f", "a b c d"]]
    assert bleu([hypothesis], longer_only).each[0, 0] == pytest.approx(math.exp(1 - 7 / 5))
    assert bleu([hypothesis], as_close).each[0, 0] == pytest.approx(1.0)


def test_the_corpus_adds_up_counts_before_it_divides() -> None:
    score = bleu(["a b c", "x"], [["a b c"], ["y"]])
    assert score.corpus[0] == pytest.approx(3 / 4)
    assert score.each[:, 0].tolist() == pytest.approx([1.0, 0.0])


def test_an_empty_hypothesis_scores_zero() -> None:
    assert bleu(["", []], [["a dog"], [""]]).each.tolist() == [[0.0] * 4] * 2
    assert bleu(["", "a dog"], [["a dog"], ["a dog"]]).corpus[0] == pytest.approx(math.exp(-1))


@examples
@given(st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=4)), min_size=1, max_size=6))
def test_counts_equal_a_naive_loop(images: list[tuple[list[str], list[list[str]]]]) -> None:
    hypotheses, references = [image[0] for image in images], [image[1] for image in images]
    score = bleu(hypotheses, references)
    for row, hypothesis, own in zip(score.each, hypotheses, references, strict=True):
        precision = [(c + 1e-15) / (n + 1e-9) for c, n in naive_counts(hypothesis, own)]
        length = min((abs(len(r) - len(hypothesis)), len(r)) for r in own)[1]
        ratio = (len(hypothesis) + 1e-15) / (length + 1e-9)
        penalty = math.exp(min(0.0, 1 - 1 / ratio))
        expected = [math.prod(precision[:n]) ** (1 / n) * penalty for n in range(1, 5)]
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_words", [64, 65, 200])
def test_long_hypotheses_are_counted_like_short_ones(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    hypothesis, *own = (list(rng.choice(list("abcd"), n_words)) for _ in range(3))
    precision = [c / n for c, n in naive_counts(hypothesis, own)]
    expected = [math.prod(precision[:n]) ** (1 / n) for n in range(1, 5)]
    np.testing.assert_allclose(bleu([hypothesis, "a"], [own, ["a"]]).each[0], expected, rtol=1e-8)


def test_pairs_are_bleu_against_one_reference_in_the_order_asked_for() -> None:
    references = References([["a dog runs on grass", "one dog"], ["two cats sit", ""]])
    hypotheses = ["two cats", "", "a dog runs"]
    first, second = [2, 0, 1, 2, 0, 2], [0, 2, 1, 1, 3, 0]
    flat = ["a dog runs on grass", "one dog", "two cats sit", ""]
    expected = [bleu([hypotheses[h]], [[flat[r]]]).each[0] for h, r in zip(first, second, strict=True)]
    np.testing.assert_allclose(pair_bleu(hypotheses, references, first, second), expected)
    assert pair_bleu(hypotheses, references, [], []).shape == (0, 4)


def test_smoothing_adds_a_match_to_all_but_single_words() -> None:
    references = References([["a dog runs on the grass"]])
    plain, smooth = (pair_bleu(["a dog runs fast"], references, [0], [0], smooth=s)[0] for s in (False, True))
    penalty = math.exp(1 - 6 / 4)
    precisions = [3 / 4, (2 + 1) / (3 + 1), (1 + 1) / (2 + 1), (0 + 1) / (1 + 1)]
    np.testing.assert_allclose(smooth[3], penalty * math.prod(precisions) ** (1 / 4), rtol=1e-8)
    assert smooth[0] == plain[0]
    assert plain[3] < 1e-3


def test_smoothing_leaves_the_collection_as_it_is() -> None:
    hypotheses, references = ["a dog runs fast", "two cats"], [["a dog runs on grass", "a dog"], ["cats sit"]]
    plain, smooth = (bleu(hypotheses, references, smooth=s) for s in (False, True))
    assert smooth.corpus.tolist() == plain.corpus.tolist()
    assert smooth.each[1] == pytest.approx(
        pair_bleu(["two cats"], References([["cats sit"]]), [0], [0], smooth=True)[0]
    )
    assert smooth.each[0, 3] > plain.each[0, 3]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [([1], [0], "hypothesis_of holds 1"), ([0], [1], "reference_of holds 1"), ([0, 0], [0], "2 indices")],
)
def test_pairs_out_of_range_are_refused(first: list[int], second: list[int], message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        pair_bleu(["a"], References([["a"]]), first, second)
