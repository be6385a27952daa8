"""Correspondences judged by boxes, counted by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seesay.data import Box, Collection, Item, Phrase
from seesay.errors import SeesayError
from seesay.evaluation import correspondences
from seesay.evaluation.correspondences import judge_correspondences, match_phrases
from seesay.images.features import Features, FeatureSpec
from seesay.models.hmlstm import HMLSTM, HMLSTMConfig
from seesay.scoring import choose_regions
from seesay.text import readings as _readings
from seesay.text.trees import Tree
from seesay.text.vocabulary import Vocabulary

TREES = {
    "a dog sees a cat": '["S", ["NP", "a", "dog"], ["VP", "sees", ["NP", "a", "cat"]]]',
    "a red bus": '["S", ["NP", "a", "red", "bus"]]',
    "a dog with a ball": '["S", ["NP", ["NP", "a", "dog"], ["PP", "with", ["NP", "a", "ball"]]]]',
}


@pytest.fixture(autouse=True)
def known_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_readings, "parse", lambda texts: [Tree.from_json(TREES[text]) for text in texts])


@pytest.fixture
def model() -> HMLSTM:
    """Regions: the whole picture, its left half, its right half."""
    small = HMLSTMConfig(dim=4, hidden=4, word_dim=4, word_vectors="", fixed_words=False, regions="grid-1x2")
    return HMLSTM(small, Vocabulary.build(TREES, min_count=1), FeatureSpec("efficientnet-lite0"))


def collection(*items: Item) -> Collection:
    return Collection("farm", Path("nowhere"), "CSV or JSONL", items)


FARM = collection(
    Item(
        "1.jpg", None, ("a dog sees a cat",), "train",
        boxes=(Box("1", 0, 0, 0.5, 0.8), Box("2", 0.5, 0, 1, 1), Box("2", 0, 0, 0.1, 0.1)),
        phrases=(Phrase(0, 0, 2, "", "1", ("animals",)), Phrase(0, 3, 5, "", "2", ("animals",))),
    ),
    Item(
        "2.jpg", None, ("a red bus",), "train",
        boxes=(Box("3", 0, 0, 0.3, 0.3),),
        phrases=(Phrase(0, 0, 3, "", "3", ("vehicles",)), Phrase(0, 1, 3, "", "3", ("vehicles",))),
    ),
)  # fmt: skip


def judge(
    model: HMLSTM, monkeypatch: pytest.MonkeyPatch, regions: list[int], sure: list[float], *, parts_only: bool = False
) -> Any:
    found = (torch.tensor(regions), torch.tensor(sure))
    monkeypatch.setattr(correspondences, "find_correspondences", lambda *_, **__: found)
    return judge_correspondences(model, FARM, None, parts_only=parts_only)  # type: ignore[arg-type]


def test_a_region_is_correct_where_it_overlaps_a_box_of_the_chain_by_half(
    model: HMLSTM, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, found = judge(model, monkeypatch, [1, 2, 0], [0.1, 0.9, 0.5])
    assert [correspondence.overlap for correspondence in found] == pytest.approx([0.8, 1.0, 0.09])
    assert [correspondence.region for correspondence in found] == [1, 2, 0]
    assert report.correct == pytest.approx(100 * 2 / 3)
    assert report.confident == 100.0  # of three, the surest one
    assert report.correct_30 == pytest.approx(100 * 2 / 3)
    assert report.whole_chosen == pytest.approx(100 / 3)


def test_only_marked_phrases_that_are_noun_phrases_to_the_word_are_judged(
    model: HMLSTM, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, found = judge(model, monkeypatch, [0, 0, 0], [0.0, 0.0, 0.0])
    assert (report.n_phrases, report.n_marked) == (3, 4)
    assert [correspondence.phrase.text for correspondence in found] == ["a dog", "a cat", "a red bus"]


def test_other_choices_among_the_same_regions_stand_beside_it(model: HMLSTM, monkeypatch: pytest.MonkeyPatch) -> None:
    report, _ = judge(model, monkeypatch, [0, 0, 0], [0.0, 0.0, 0.0])
    # The dog by its half (0.8), the cat by its half (1) and by the whole (0.5), the bus by none.
    assert report.random == pytest.approx(100 * 3 / 9)
    assert report.whole == pytest.approx(100 / 3)
    assert report.upper_bound == pytest.approx(200 / 3)


def test_without_the_whole_picture_nobody_may_choose_it(model: HMLSTM, monkeypatch: pytest.MonkeyPatch) -> None:
    report, _ = judge(model, monkeypatch, [1, 2, 1], [0.0] * 3, parts_only=True)
    assert report.random == pytest.approx(100 * 2 / 6)  # the dog and the cat by their halves
    assert report.whole_chosen == 0
    assert report.centred == pytest.approx(200 / 3)  # the bus stands in a corner of the half that was chosen


def test_phrases_choose_among_the_parts_of_a_picture_where_that_is_asked(model: HMLSTM) -> None:
    regions = torch.tensor([[[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]])  # the whole picture fits best
    phrases, picture = torch.tensor([[1.0, 0.0]]), torch.tensor([0])
    assert choose_regions(model, regions, phrases, picture)[0].tolist() == [0]
    region, confidence = choose_regions(model, regions, phrases, picture, parts_only=True)
    assert region.tolist() == [1]
    assert confidence.tolist() == pytest.approx([0.6])


class Blank:
    """Features of images in which nothing can be seen."""

    def __len__(self) -> int:
        return len(FARM)

    def rows(self, indices: list[int]) -> Features:
        return Features(torch.zeros(len(indices), 3), torch.zeros(len(indices), 4, 4, 3))


def test_images_may_have_regions_of_their_own(model: HMLSTM) -> None:
    """The dog stands where only the proposal of its image is, and the bus likewise; the cat stands elsewhere."""
    model = HMLSTM(replace(model.config, image_dim=3), model.vocabulary, model.feature_spec).eval()
    whole, dog, bus = (0, 0, 1, 1), (0, 0, 0.5, 0.8), (0, 0, 0.3, 0.3)
    proposals = [np.array([whole, part], np.float32) for part in (dog, bus)]
    found = judge_correspondences(model, FARM, Blank(), parts_only=True, proposals=proposals)[1]  # type: ignore[arg-type]
    assert [(each.region, round(each.overlap, 2)) for each in found] == [(1, 1.0), (1, 0.02), (1, 1.0)]


def test_a_phrase_inside_another_is_nested_where_the_outer_region_covers_its_own(
    model: HMLSTM, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked = Phrase(0, 0, 2, "", "1", ("animals",))
    farm = collection(
        Item("1.jpg", None, ("a dog with a ball",), "train", boxes=(Box("1", 0, 0, 0.5, 1),), phrases=(marked,)),
        Item("2.jpg", None, ("a red bus",), "train"),
    )
    spans = [tuple(span) for sentence in farm.sentences for span in model.read([sentence])[0].spans.tolist()]
    # The left half for the dog with its ball and for the dog; the ball is said to lie in the right one.
    by_span = {(0, 5): 1, (0, 2): 1, (3, 5): 2, (0, 3): 0}
    found = (torch.tensor([by_span[span] for span in spans]), torch.zeros(len(spans)))
    monkeypatch.setattr(correspondences, "find_correspondences", lambda *_, **__: found)
    report, _ = judge_correspondences(model, farm, None)  # type: ignore[arg-type]
    assert report.n_nested == 2
    assert report.covered == 50.0
    assert report.same_region == 50.0
    by_span[0, 5] = 0
    found = (torch.tensor([by_span[span] for span in spans]), torch.zeros(len(spans)))
    report, _ = judge_correspondences(model, farm, None)  # type: ignore[arg-type]
    assert (report.covered, report.covered_shuffled, report.same_region) == (100.0, 100.0, 0.0)


def test_a_collection_without_boxes_is_refused(model: HMLSTM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correspondences, "find_correspondences", lambda *_, **__: (torch.zeros(1), torch.zeros(1)))
    bare = collection(Item("1.jpg", None, ("a red bus",), "train"))
    with pytest.raises(SeesayError, match="no noun phrase of farm has a box"):
        judge_correspondences(model, bare, None)  # type: ignore[arg-type]


def test_every_noun_phrase_of_a_sentence_is_given_a_region_of_one_picture(model: HMLSTM) -> None:
    model = HMLSTM(replace(model.config, image_dim=3), model.vocabulary, model.feature_spec).eval()
    features = Features(torch.rand(1, 3), torch.rand(1, 4, 4, 3))
    found = match_phrases(model, features, "a dog sees a cat")
    nodes = list(Tree.from_json(TREES["a dog sees a cat"]).nodes())
    assert [nodes[place].span for place in found] == [(0, 2), (3, 5)]
    with torch.inference_mode():
        scores = model.encode_trees(["a dog sees a cat"]).phrases @ model.encode_regions(features, model.boxes)[0].T
    assert [box.tolist() for box in found.values()] == [model.boxes[int(row.argmax())].tolist() for row in scores]
    with pytest.raises(ValueError, match="in one image, not in 2"):
        match_phrases(model, Features(torch.rand(2, 3)), "a red bus")
