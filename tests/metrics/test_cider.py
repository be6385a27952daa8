import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.metrics.cider import CiderScorer, cider, cider_d

words = st.lists(st.sampled_from("abcd"), max_size=8)


def naive_pair(hypothesis: list[str], reference: list[str], collection: list[list[list[str]]], variant: str) -> float:
    """tf-idf cosine by dictionaries, as the paper writes it."""

    def ngrams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    def weigh(tokens: list[str], n: int) -> dict[tuple[str, ...], float]:
        vector = {}
        for gram, count in ngrams(tokens, n).items():
            n_images = sum(any(gram in ngrams(sentence, n) for sentence in image) for image in collection)
            vector[gram] = count * (math.log(len(collection)) - math.log(max(1, n_images)))
        return vector

    total = 0.0
    for n in range(1, 5):
        h, r = weigh(hypothesis, n), weigh(reference, n)
        norm = math.hypot(*h.values()) * math.hypot(*r.values())
        clip = min if variant == "cider-d" else (lambda mine, _: mine)
        product = sum(clip(weight, r[gram]) * r[gram] for gram, weight in h.items() if gram in r)
        total += product / norm if norm else 0.0
    difference = max(len(hypothesis) - 1, 0) - max(len(reference) - 1, 0)
    return 10 * total / 4 * (math.exp(-(difference**2) / 72) if variant == "cider-d" else 1)


def test_hand_computed_scores_of_a_repeated_word() -> None:
    references = [["a b"], ["c d"]]  # every n-gram stands in one image of two: all idf are log 2
    plain, clipped = cider(["a a", "c d"], references), cider_d(["a a", "c d"], references)
    # "a a" as (a: 2), "a b" as (a: 1, b: 1): cosine 2 / (2 sqrt 2), clipped 1 / (2 sqrt 2); no bigram in common
    assert plain.each[0] == pytest.approx(10 / 4 / math.sqrt(2))
    assert clipped.each[0] == pytest.approx(10 / 4 / math.sqrt(2) / 2)
    assert plain.each[1] == pytest.approx(10 / 4 * 2)  # no 3-grams, no 4-grams
    assert clipped.corpus == pytest.approx(clipped.each.mean())


def test_length_costs_a_gaussian_of_six_words_in_cider_d_only() -> None:
    references = [["a b c"], ["x y z"]]
    longer = ["a b c q q q q q q", "x y z"]
    with_rare_words = cider(longer, references).each[0]
    ratio = cider_d(longer, references).each[0] / with_rare_words
    assert ratio == pytest.approx(math.exp(-(6**2) / (2 * 6**2)))


def test_words_that_every_image_has_weigh_nothing() -> None:
    references = [["a dog"], ["a cat"]]
    assert cider_d(["a", "a a a"], references).each.tolist() == [0.0, 0.0]


def test_a_perfect_caption_of_four_words_scores_ten() -> None:
    assert cider_d(["a b c d", "e f g h"], [["a b c d"], ["e f g h"]]).corpus == pytest.approx(10.0)


def test_an_empty_hypothesis_and_a_single_image_score_zero() -> None:
    assert cider_d(["", "c"], [["a"], [""]]).each.tolist() == [0.0, 0.0]
    assert cider_d(["a dog"], [["a dog"]]).corpus == 0.0
    assert cider_d([""], [[""]]).corpus == 0.0


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=4),
    st.sampled_from(["cider", "cider-d"]),
)
def test_scores_equal_dictionaries(images: list[tuple[list[str], list[list[str]]]], variant: str) -> None:
    references = [image[1] for image in images]
    each = CiderScorer(references).score([image[0] for image in images], variant).each  # type: ignore[arg-type]
    expected = [np.mean([naive_pair(h, r, references, variant) for r in own]) for h, own in images]
    np.testing.assert_allclose(each, expected, atol=1e-9)


@pytest.mark.parametrize("n_words", [65, 140])
def test_long_hypotheses_equal_dictionaries(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    hypothesis, reference, other = (list(rng.choice(list("abcdef"), n)) for n in (n_words, 30, 8))
    collection = [[reference], [other]]
    expected = naive_pair(hypothesis, reference, collection, "cider")
    assert cider([hypothesis, "a"], collection).each[0] == pytest.approx(expected)


def test_words_unknown_to_the_references_lengthen_the_hypothesis_each_on_its_own() -> None:
    references = [["a b"], ["c d"]]
    one, two = cider(["a q", "c"], references).each[0], cider(["a q r", "c"], references).each[0]
    assert one == pytest.approx(10 / 4 / 2)  # (a, q) with (a, b)
    assert two == pytest.approx(10 / 4 / math.sqrt(6))  # (a, q, r) with (a, b)


def test_pairs_average_to_the_score_of_an_image_in_any_order() -> None:
    scorer = CiderScorer([["a dog runs", "one dog", "a b c d e"], ["two cats sit"]])
    hypotheses = ["a dog sits", "two cats"]
    pairs = scorer.pairs(hypotheses, [1, 0, 0, 0], [3, 2, 0, 1])
    each = scorer.score(hypotheses).each
    np.testing.assert_allclose([pairs[1:].mean(), pairs[0]], each)
    assert scorer.pairs(hypotheses, [], []).shape == (0,)
    assert scorer.pairs([], [], []).shape == (0,)


def test_scoring_does_not_change_the_scorer() -> None:
    scorer = CiderScorer([["a dog runs"], ["two cats sit"]])
    before = scorer.score(["a dog", "two cats"]).each
    scorer.score(["new words here", "entirely unknown ones"])
    assert scorer.score(["a dog", "two cats"]).each.tolist() == before.tolist()


def test_an_unknown_variant_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SeesayError, match="cider, cider-d"):
        CiderScorer([["a"]]).score(["a"], "ciderd")  # type: ignore[arg-type]
