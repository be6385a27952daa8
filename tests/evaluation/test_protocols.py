"""Protocols on toys whose ranks are known, against a naive loop, and on the real test split at chance."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from seesay import data
from seesay.errors import SeesayError
from seesay.evaluation import protocols
from seesay.evaluation.protocols import PROTOCOLS, EvaluationSet, Protocol, choose_folds
from seesay.evaluation.retrieval import evaluate_retrieval, evaluate_shortlist
from seesay.images.extraction import FeatureStore, content_key


def test_the_report_of_three_images_is_the_one_computed_by_hand(three_images) -> None:
    model, collection, store = three_images
    evaluation = evaluate_retrieval(model, EvaluationSet(collection, store=store))
    assert evaluation.ranks.i2t.tolist() == [0, 2, 0]
    assert evaluation.ranks.t2i.tolist() == [0, 2, 1, 0]
    assert evaluation.figures["i2t"] == pytest.approx(
        {"r1": 200 / 3, "r5": 100, "r10": 100, "median": 1, "mean": 5 / 3}
    )
    assert evaluation.figures["t2i"] == pytest.approx({"r1": 50, "r5": 100, "r10": 100, "median": 1.5, "mean": 1.75})
    assert evaluation.figures["sum"] == pytest.approx(200 / 3 + 200 + 250)
    assert (evaluation.n_images, evaluation.n_sentences) == (3, 4)


def test_the_curves_end_with_everything_found_and_the_parts_are_timed(three_images) -> None:
    model, collection, store = three_images
    evaluation = evaluate_retrieval(model, EvaluationSet(collection, store=store))
    for curve in evaluation.curves.values():
        assert curve.recall[0] == 0
        assert curve.recall[-1] == pytest.approx(100)
    assert list(evaluation.seconds) == ["features", "scores", "ranks"]
    assert all(seconds >= 0 for seconds in evaluation.seconds.values())


def test_no_network_runs_where_the_store_holds_the_features(three_images) -> None:
    model, collection, store = three_images
    seen: list[tuple[int, int]] = []
    tell = EvaluationSet(collection, store=store, on_progress=lambda done, total: seen.append((done, total)))
    evaluate_retrieval(model, tell)
    assert seen == [(3, 3)]


@pytest.fixture
def random_toy(make_toy):
    generator = np.random.default_rng(5)
    images = generator.normal(size=(23, 6))
    sentences = [generator.normal(size=(1 + number % 3, 6)).tolist() for number in range(23)]
    return make_toy(images, sentences)


def test_a_shortlist_of_all_images_is_the_whole_split(random_toy) -> None:
    model, collection, store = random_toy
    full = evaluate_retrieval(model, EvaluationSet(collection, store=store))
    short = evaluate_shortlist(model, EvaluationSet(collection, "shortlist-23", store=store))
    assert short.figures == full.figures["i2t"]
    assert short.n_candidates == full.n_sentences


def test_a_shortlist_holds_the_sentences_of_the_nearest_images_only(random_toy) -> None:
    model, collection, store = random_toy
    short = evaluate_shortlist(model, EvaluationSet(collection, "shortlist-4", store=store))
    table = EvaluationSet(collection, store=store).read(model).table
    assert table is not None
    vectors = table.rows(range(23)).pooled
    cosines = torch.nn.functional.normalize(vectors, dim=1) @ torch.nn.functional.normalize(vectors, dim=1).T
    ranks, n_candidates = [], []
    for place, item in enumerate(collection.items):
        near = cosines[place].argsort(descending=True)[:4].tolist()
        assert near[0] == place
        candidates = [(text, other) for other in near for text in collection.items[other].sentences]
        texts = model.encode_texts([text for text, _ in candidates])
        scores = model.score(model.encode_images(table.rows([place])), texts)[0].tolist()
        best = max(score for score, (_, other) in zip(scores, candidates, strict=True) if other == place)
        wrong = [score for score, (_, other) in zip(scores, candidates, strict=True) if other != place]
        ranks.append(sum(score >= best for score in wrong))
        n_candidates.append(len(candidates))
        assert len(item.sentences) == len(texts) - len(wrong)
    assert short.figures["mean"] == pytest.approx(np.mean(ranks) + 1)
    assert short.figures["r1"] == pytest.approx(100 * np.mean(np.array(ranks) == 0))
    assert short.n_candidates == pytest.approx(np.mean(n_candidates))
    curve = short.curves["i2t"]
    assert curve.retrieved[-1] <= 100
    assert curve.recall[-1] > curve.recall[1]


def naive_figures(model, collection, store, places: list[int]) -> dict[str, dict[str, float]]:
    """Sort every list by hand and look where the first own answer stands."""
    items = [collection.items[place] for place in places]
    pictures = FeatureStore(model.feature_spec, root=store).read("pooled", [content_key(item.image) for item in items])
    texts = [(owner, sentence) for owner, item in enumerate(items) for sentence in item.sentences]
    scores = {
        (i, t): float(torch.from_numpy(pictures[i]).float() @ torch.tensor(model.vectors[sentence]))
        for i in range(len(items))
        for t, (_, sentence) in enumerate(texts)
    }
    i2t = []
    for image in range(len(items)):
        order = sorted(range(len(texts)), key=lambda text: -scores[image, text])
        i2t.append(1 + next(place for place, text in enumerate(order) if texts[text][0] == image))
    t2i = []
    for text, (owner, _) in enumerate(texts):
        order = sorted(range(len(items)), key=lambda image: -scores[image, text])
        t2i.append(1 + order.index(owner))
    return {name: summary(found) for name, found in (("i2t", i2t), ("t2i", t2i))}


def summary(found: list[int]) -> dict[str, float]:
    recalls = {f"r{k}": 100 * sum(rank <= k for rank in found) / len(found) for k in (1, 5, 10)}
    return {**recalls, "median": float(np.median(found)), "mean": float(np.mean(found))}


def test_full_equals_a_naive_computation(random_toy) -> None:
    model, collection, store = random_toy
    figures = evaluate_retrieval(model, EvaluationSet(collection, "full", store=store)).figures
    naive = naive_figures(model, collection, store, list(range(23)))
    assert figures["i2t"] == pytest.approx(naive["i2t"])
    assert figures["t2i"] == pytest.approx(naive["t2i"])


def test_a_sample_is_the_first_images_and_with_a_seed_others(random_toy, monkeypatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "sample", Protocol("sample", 10, 1, "ten images"))
    model, collection, store = random_toy
    first = evaluate_retrieval(model, EvaluationSet(collection, "sample", store=store))
    assert first.figures["i2t"] == pytest.approx(naive_figures(model, collection, store, list(range(10)))["i2t"])
    drawn = [evaluate_retrieval(model, EvaluationSet(collection, "sample", seed=7, store=store)) for _ in range(2)]
    assert drawn[0].figures == drawn[1].figures
    places = choose_folds(23, PROTOCOLS["sample"], seed=7)[0].tolist()
    assert places != list(range(10))
    assert drawn[0].figures["t2i"] == pytest.approx(naive_figures(model, collection, store, places)["t2i"])


def test_folds_are_disjoint_and_every_figure_is_their_mean(random_toy, monkeypatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "2-fold", Protocol("2-fold", 10, 2, "twice ten images"))
    model, collection, store = random_toy
    evaluation = evaluate_retrieval(model, EvaluationSet(collection, "2-fold", store=store))
    naive = [naive_figures(model, collection, store, places) for places in (list(range(10)), list(range(10, 20)))]
    for direction in ("i2t", "t2i"):
        mean = {key: (naive[0][direction][key] + naive[1][direction][key]) / 2 for key in naive[0][direction]}
        assert evaluation.figures[direction] == pytest.approx(mean)
    assert len(evaluation.folds) == 2
    assert evaluation.figures["sum"] == pytest.approx(np.mean([fold["sum"] for fold in evaluation.folds]))
    assert (evaluation.n_images, len(evaluation.ranks.i2t)) == (20, 20)
    assert evaluation.curves["t2i"].recall[-1] == pytest.approx(100)


def test_published_protocols_take_one_five_and_five_times_one_thousand() -> None:
    assert [len(fold) for fold in choose_folds(1234, PROTOCOLS["full"])] == [1234]
    assert [len(fold) for fold in choose_folds(1234, PROTOCOLS["1k"])] == [1000]
    assert [len(fold) for fold in choose_folds(5001, PROTOCOLS["5k"])] == [5000]
    folds = choose_folds(5000, PROTOCOLS["5-fold"], seed=3)
    assert [len(fold) for fold in folds] == [1000] * 5
    assert sorted(np.concatenate(folds).tolist()) == list(range(5000))


@pytest.mark.parametrize(("protocol", "needed"), [("1k", "1,000"), ("5-fold", "5,000"), ("5k", "5,000")])
def test_too_few_images_are_refused_with_both_numbers(three_images, protocol: str, needed: str) -> None:
    model, collection, store = three_images
    with pytest.raises(SeesayError, match=f"protocol {protocol} needs {needed} images, there are 3") as caught:
        evaluate_retrieval(model, EvaluationSet(collection, protocol, store=store))
    assert caught.value.allowed == "with so many images: full"


def test_an_unknown_protocol_is_answered_with_the_list(three_images) -> None:
    model, collection, store = three_images
    with pytest.raises(SeesayError, match="there is no protocol '10k'") as caught:
        evaluate_retrieval(model, EvaluationSet(collection, "10k", store=store))
    assert caught.value.allowed == "full, 1k, 5-fold, 5k, shortlist-N"


def test_a_limit_is_a_protocol_that_says_that_it_is_one(random_toy) -> None:
    model, collection, store = random_toy
    look = evaluate_retrieval(model, EvaluationSet(collection, "limit-10", store=store))
    assert (look.protocol.name, look.n_images) == ("limit-10", 10)
    assert look.figures["i2t"] == pytest.approx(naive_figures(model, collection, store, list(range(10)))["i2t"])
    with pytest.raises(SeesayError, match="protocol limit-24 needs 24 images, there are 23"):
        evaluate_retrieval(model, EvaluationSet(collection, "limit-24", store=store))
    for name in ("limit-0", "limit-", "limit-1e3"):
        with pytest.raises(SeesayError, match="there is no protocol"):
            evaluate_retrieval(model, EvaluationSet(collection, name, store=store))


def test_scores_may_be_made_in_another_way(three_images) -> None:
    model, collection, store = three_images
    turned = evaluate_retrieval(
        model, EvaluationSet(collection, store=store), score=lambda images, texts: -images @ texts.T
    )
    assert turned.ranks.t2i.tolist() == [2, 0, 1, 2]


def test_a_missing_picture_is_refused_before_anything_is_computed(three_images, monkeypatch) -> None:
    model, collection, store = three_images
    lacking = replace(collection, items=(replace(collection.items[0], image=None), *collection.items[1:]))
    monkeypatch.setattr(protocols, "features_of", None)
    with pytest.raises(SeesayError, match="1 of 3 images of toys are missing"):
        evaluate_retrieval(model, EvaluationSet(lacking, store=store))


def test_a_split_without_images_is_refused(three_images) -> None:
    model, collection, store = three_images
    with pytest.raises(SeesayError, match="toys has no images"):
        evaluate_retrieval(model, EvaluationSet(replace(collection, items=()), store=store))


def test_vectors_at_random_reach_chance_on_flickr8k(shared_data: Path, make_toy: Callable, tmp_path: Path) -> None:
    collection = data.load(shared_data / "flickr8k").split("test")
    generator = np.random.default_rng(1)
    vectors = {sentence: generator.normal(size=8).tolist() for sentence in collection.sentences}
    model, _, store = make_toy(np.eye(8)[:1], [[[0.0] * 8]])
    model.vectors = vectors
    keys = [content_key(path) for path in collection.images]
    FeatureStore(model.feature_spec, root=store).write(keys, {"pooled": generator.normal(size=(1000, 8))})
    evaluation = evaluate_retrieval(model, EvaluationSet(collection, "1k", store=store))
    assert (evaluation.n_images, evaluation.n_sentences) == (1000, 5000)
    assert evaluation.figures["i2t"]["r1"] <= 0.6
    assert evaluation.figures["t2i"]["r1"] <= 0.4
    assert evaluation.figures["t2i"]["r10"] == pytest.approx(1.0, abs=0.6)
    assert 450 < evaluation.figures["t2i"]["median"] < 550
    assert 500 < evaluation.figures["i2t"]["median"] < 760  # the papers print 631
