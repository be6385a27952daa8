"""Consensus reranking on sentences whose scores are known, against naive loops, and against pycocoevalcap."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.captioning import consensus
from seesay.captioning.choosing import Choice, choose_k_m
from seesay.captioning.consensus import Consensus, Similarities, oracle_scores, rerank
from seesay.errors import SeesayError
from seesay.metrics import neighbours
from seesay.metrics.bleu import bleu
from seesay.metrics.cider import cider_d
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.metrics.neighbours import cosines, nearest

CAPTIONS = [
    ["a dog runs on grass", "a brown dog is running"],
    ["two cats sleep"],
    ["a dog jumps over a fence", "the dog jumps", "a fence and a dog"],
    ["people walk on the street", "a busy street"],
]
HYPOTHESES = [["a dog runs", "two cats sleep", "a dog jumps over a fence"], ["a street"]]
NEIGHBOURS = [[0, 2], [3, 1]]


def test_nearest_is_by_cosine_and_not_by_length() -> None:
    bank = np.array([[10.0, 10.0], [0.0, 0.1], [-1.0, 0.0], [0.5, 0.1]])
    assert nearest([[1.0, 0.0], [0.0, 2.0]], bank, 3).tolist() == [[3, 0, 1], [1, 0, 3]]


def test_nearest_takes_tensors_and_gives_all_there_are_where_k_is_larger() -> None:
    queries = torch.tensor([[1.0, 1.0]], requires_grad=True)
    assert nearest(queries, torch.eye(2).half(), 60).tolist() == [[0, 1]]
    assert nearest(queries, torch.zeros(0, 2), 60).shape == (1, 0)
    assert nearest(torch.zeros(0, 2), torch.eye(2), 1).shape == (0, 1)


def test_blocks_do_not_change_what_is_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(0)
    queries, bank = numbers.normal(size=(23, 6)), numbers.normal(size=(40, 6))
    whole = nearest(queries, bank, 7)
    expected = np.argsort(-cosines(queries, bank), axis=1)[:, :7]
    assert whole.tolist() == expected.tolist()
    monkeypatch.setattr(neighbours, "_CELLS_AT_ONCE", 3 * 40)
    assert nearest(queries, bank, 7).tolist() == whole.tolist()


def test_a_vector_of_zeros_has_a_cosine_of_zero() -> None:
    assert cosines([[0.0, 0.0], [3.0, 4.0]], [[6.0, 8.0], [0.0, 0.0]]) == pytest.approx(np.array([[0, 0], [1, 0]]))


@pytest.mark.parametrize(
    ("queries", "bank", "k", "message"),
    [
        ([[1.0]], [[1.0, 2.0]], 1, "queries of 1 numbers and a bank of 2"),
        ([[1.0]], [[1.0]], 0, "k is 0"),
        ([[float("nan")]], [[1.0]], 1, "queries hold a number that is not finite"),
        ([1.0], [[1.0]], 1, r"queries has the shape \(1,\)"),
    ],
)
def test_impossible_vectors_are_refused(queries: Any, bank: Any, k: int, message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        nearest(queries, bank, k)


def naive_scores(metric: str, m: int, k: int) -> list[list[float]]:
    """Each hypothesis against each caption by the collection's own metrics, one pair at a time."""
    flat = [sentence for own in CAPTIONS for sentence in own]
    starts = np.cumsum([0, *map(len, CAPTIONS)])
    table = DocumentFrequencies.build(CAPTIONS)

    def similarity(hypothesis: str, place: int) -> float:
        if metric == "bleu":
            return float(bleu([hypothesis], [[flat[place]]], smooth=True).each[0, 3])
        (each,) = oracle_scores([[hypothesis]], [[flat[place]]], frequencies=table)
        return float(each[0])

    scores = []
    for several, near in zip(HYPOTHESES, NEIGHBOURS, strict=True):
        places = [place for image in near[:k] for place in range(starts[image], starts[image + 1])]
        by_size = [sorted((similarity(h, place) for place in places), reverse=True) for h in several]
        scores.append([float(np.mean(values[:m])) for values in by_size])
    return scores


@pytest.mark.parametrize("metric", ["cider", "bleu"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("m", [1, 2, 4, 100])
def test_the_score_is_the_mean_of_the_m_largest_similarities_to_captions_of_k_neighbours(
    metric: Any, k: int, m: int
) -> None:
    scores = Consensus(CAPTIONS, metric).similarities(HYPOTHESES, NEIGHBOURS).scores(m, k)
    for own, expected in zip(scores, naive_scores(metric, m, k), strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["cider", "bleu"])
def test_blocks_of_pairs_do_not_change_the_similarities(metric: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Consensus(CAPTIONS, metric).similarities(HYPOTHESES, NEIGHBOURS).values
    monkeypatch.setattr(consensus, "_PAIRS_AT_ONCE", 4)
    np.testing.assert_array_equal(Consensus(CAPTIONS, metric).similarities(HYPOTHESES, NEIGHBOURS).values, whole)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 40))
def test_prefix_means_equal_a_sort_of_each_hypothesis(seed: int, k: int, m: int) -> None:
    numbers = np.random.default_rng(seed)
    values = numbers.normal(size=(5, 6, 3))
    values[:, :, 1:][numbers.random((5, 6, 2)) < 0.4] = -np.inf  # neighbours with fewer captions
    means = Similarities(values, np.array([2, 3])).means([m, 1], k)
    for row, expected in zip(means, values[:, :k].reshape(5, -1), strict=True):
        there = np.sort(expected[np.isfinite(expected)])[::-1]
        np.testing.assert_allclose(row, [there[:m].mean(), there[0]])


def test_reranking_keeps_the_order_of_equals_and_takes_any_items() -> None:
    items = [[("first", -1.0), ("second", -2.0), ("third", -3.0)], []]
    assert rerank(items, [np.array([0.5, 0.5, 0.7]), np.array([])]) == [[items[0][2], items[0][0], items[0][1]], []]


def test_equal_hypotheses_score_the_same_to_the_last_bit() -> None:
    hypotheses = [["a dog runs", "a cat", "a dog runs", "a dog runs"]]
    for metric in ("cider", "bleu"):
        (own,) = Consensus(CAPTIONS, metric).similarities(hypotheses, [[0, 2]]).scores(4)  # type: ignore[arg-type]
        assert own[0] == own[2] == own[3]
        assert [rank for rank, _ in rerank([list(enumerate(hypotheses[0]))], [own])[0]][:3] == [0, 2, 3]


def test_what_the_neighbours_say_comes_to_the_front() -> None:
    for metric in ("cider", "bleu"):
        scores = Consensus(CAPTIONS, metric).similarities(HYPOTHESES, NEIGHBOURS).scores(2, k=1)  # type: ignore[arg-type]
        assert rerank(HYPOTHESES, scores)[0][0] == "a dog runs"
        scores = Consensus(CAPTIONS, metric).similarities(HYPOTHESES, [[2], [3]]).scores(2)  # type: ignore[arg-type]
        assert rerank(HYPOTHESES, scores)[0][0] == "a dog jumps over a fence"


def test_a_table_of_document_frequencies_stands_in_for_the_collection() -> None:
    few = CAPTIONS[:2]
    alone = Consensus(few).similarities([["a dog runs"]], [[0]]).scores(2)
    with_table = Consensus(few, frequencies=DocumentFrequencies.build(CAPTIONS))
    scores = with_table.similarities([["a dog runs"]], [[0]]).scores(2)
    expected = Consensus(CAPTIONS).similarities([["a dog runs"]], [[0]]).scores(2)
    assert scores[0] == pytest.approx(expected[0], abs=1e-12)
    assert scores[0] != pytest.approx(alone[0], abs=1e-3)


def test_the_oracle_scores_by_the_pictures_own_references() -> None:
    references = [CAPTIONS[2], CAPTIONS[3]]
    by_cider = oracle_scores(HYPOTHESES, references)
    assert by_cider[0][2] == pytest.approx(cider_d([HYPOTHESES[0][2], "a street"], references).each[0])
    by_bleu = oracle_scores(HYPOTHESES, references, "bleu")
    assert by_bleu[0][2] == pytest.approx(bleu([HYPOTHESES[0][2]], [CAPTIONS[2]], smooth=True).each[0, 3])
    for scores in (by_cider, by_bleu):
        assert [len(own) for own in scores] == [3, 1]
        assert rerank(HYPOTHESES, scores)[0][0] == "a dog jumps over a fence"


def test_no_choice_of_k_and_m_is_above_the_oracle() -> None:
    references = [CAPTIONS[2], CAPTIONS[3]]
    similarities = Consensus(CAPTIONS).similarities(HYPOTHESES, NEIGHBOURS)
    best = [own[0] for own in rerank(HYPOTHESES, oracle_scores(HYPOTHESES, references))]
    choice = choose_k_m(similarities, HYPOTHESES, references, ks=(1, 2), ms=(1, 3))
    assert choice.figures.max() == choice.figure <= cider_d(best, references).corpus


@pytest.mark.parametrize("metric", ["cider", "bleu"])
def test_the_choice_is_what_trying_each_k_and_m_gives(metric: Any) -> None:
    references = [CAPTIONS[2], CAPTIONS[3]]
    similarities = Consensus(CAPTIONS, metric).similarities(HYPOTHESES, NEIGHBOURS)
    choice = choose_k_m(similarities, HYPOTHESES, references, metric=metric, ks=(1, 2), ms=(1, 2, 5))
    assert isinstance(choice, Choice)
    for row, k in enumerate((1, 2)):
        for column, m in enumerate((1, 2, 5)):
            best = [own[0] for own in rerank(HYPOTHESES, similarities.scores(m, k))]
            figure = cider_d(best, references).corpus if metric == "cider" else bleu(best, references).corpus[3]
            assert choice.figures[row, column] == pytest.approx(figure)
    assert choice.figures[choice.ks.index(choice.k), choice.ms.index(choice.m)] == choice.figure


def test_of_equally_good_choices_the_smallest_is_taken() -> None:
    similarities = Consensus(CAPTIONS).similarities([["a dog"], ["a street"]], NEIGHBOURS)
    choice = choose_k_m(similarities, [["a dog"], ["a street"]], CAPTIONS[2:], ks=(1, 2), ms=(3, 4))
    assert (choice.k, choice.m) == (1, 3)


def test_no_pictures_have_no_scores() -> None:
    assert Consensus(CAPTIONS).similarities([], np.zeros((0, 2), int)).scores(3) == []
    assert [own.shape for own in Consensus(CAPTIONS).similarities([[], ["a"]], [[0], [1]]).scores(3)] == [(0,), (1,)]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda c: c.similarities(HYPOTHESES, [[0]]), "hypotheses of 2 images and neighbours of 1"),
        (lambda c: c.similarities(HYPOTHESES, [[0], [4]]), "neighbours holds 4\n  allowed: 0 to 3"),
        (lambda c: c.similarities(HYPOTHESES, NEIGHBOURS).scores(0), "m is 0"),
        (lambda c: c.similarities(HYPOTHESES, NEIGHBOURS).scores(1, k=3), "k is 3\n  allowed: 1 to 2"),
        (lambda c: Consensus(CAPTIONS, "meteor"), "no similarity 'meteor'\n  allowed: cider, bleu"),
        (lambda c: oracle_scores(HYPOTHESES, CAPTIONS, "rouge"), "no similarity 'rouge'"),
        (
            lambda c: choose_k_m(c.similarities(HYPOTHESES, NEIGHBOURS), HYPOTHESES[:1], CAPTIONS[:1]),
            "similarities of 4 hypotheses, and 3 hypotheses",
        ),
        (
            lambda c: choose_k_m(c.similarities([[], ["a"]], NEIGHBOURS), [[], ["a"]], CAPTIONS[:2]),
            "one hypothesis or more for each image",
        ),
    ],
)
def test_impossible_wishes_are_refused(action: Any, message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        action(Consensus(CAPTIONS))


def test_similarities_of_real_captions_are_those_of_pycocoevalcap(shared_data: Any) -> None:
    from pycocoevalcap.cider.cider_scorer import CiderScorer as TheirScorer

    from seesay import data
    from seesay.text.tokens import tokenize

    items = data.load(shared_data / "flickr8k").items[:120]
    captions = [[" ".join(tokenize(sentence)) for sentence in item.sentences] for item in items]
    hypotheses = [[captions[i + 1][0], captions[i][1]] for i in range(3)]
    neighbours = [[i + 1, i + 50] for i in range(3)]

    class PairScorer(TheirScorer):  # type: ignore[misc]
        """Their scorer takes the pairs themselves for the collection; here the captions are the collection."""

        ref_len = property(lambda _: np.log(len(captions)), lambda *_: None)

    collection, pairs = TheirScorer(), PairScorer()
    for own in captions:
        collection += (own[0], own)
    collection.compute_doc_freq()
    pairs.document_frequency = collection.document_frequency
    for several, near in zip(hypotheses, neighbours, strict=True):
        for hypothesis in several:
            for image in near:
                for caption in captions[image]:
                    pairs += (hypothesis, [caption])
    values = Consensus(captions).similarities(hypotheses, neighbours).values
    np.testing.assert_allclose(values.ravel(), pairs.compute_cider(), rtol=0, atol=1e-9)
