"""Doubt: curves fitted to answers whose truth is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seesay import data
from seesay.captioning.sentences import Caption, judge
from seesay.data import Box, Collection, Phrase
from seesay.errors import SeesayError
from seesay.models.aligner import load_aligner
from seesay.settings.doubt import Doubt
from seesay.training.finishing.doubt import (
    Answers,
    describe_doubt,
    draw_foreign,
    fit_doubt,
    fit_presence,
    gather_phrases,
    share_right,
)


def answers(n: int = 20_000) -> Answers:
    rng = np.random.default_rng(0)
    right = (rng.random(n) < 0.5).astype(float)
    return Answers(rng.normal(2 * right), rng.integers(1, 5, n).astype(float), right)


def test_a_curve_keeps_the_share_of_what_is_there_that_was_asked_for() -> None:
    found = fit_presence(answers(), kept=0.85)
    figures = describe_doubt(found, answers())
    assert figures["kept of right"] == pytest.approx(85, abs=0.1)
    assert figures["kept of wrong"] == pytest.approx(17, abs=2)  # two bells of width 1 that are 2 apart
    assert figures["expected calibration error"] < 2


def test_shares_are_fitted_as_they_are() -> None:
    rng = np.random.default_rng(0)
    evidence = rng.normal(size=5_000)
    share = 1 / (1 + np.exp(-(1.5 * evidence - 0.5)))
    found = fit_doubt(Answers(evidence, np.ones(5_000), share))
    assert found.slope == pytest.approx(1.5, abs=0.01)
    assert float(found.probability(0.0, 1)) == pytest.approx(1 / (1 + np.exp(0.5)), abs=0.01)
    assert found.least == 0.5


def test_what_a_matcher_says_is_part_of_the_evidence() -> None:
    rng = np.random.default_rng(0)
    evidence, cosine = rng.normal(size=(2, 20_000))
    right = (rng.random(20_000) < 1 / (1 + np.exp(-(evidence + 3 * cosine)))).astype(float)
    found = fit_doubt(Answers(evidence, np.ones(20_000), right, match=cosine))
    assert found.per_match == pytest.approx(3, abs=0.1)
    caption = Caption("a dog", ("a", "dog"), log_prob=0.0, finished=True)
    likely, unlikely = (judge(replace(caption, match=match), found) for match in (1.0, -1.0))
    assert likely.confidence > 0.9 > 0.1 > unlikely.confidence
    assert unlikely.is_unsure


def test_what_crops_show_is_part_of_the_evidence() -> None:
    rng = np.random.default_rng(0)
    evidence, cosine, peak, look = rng.normal(size=(4, 20_000))
    right = (rng.random(20_000) < 1 / (1 + np.exp(-(evidence + 2 * peak - look)))).astype(float)
    crops = np.stack([peak, look], 1)
    found = fit_doubt(Answers(evidence, np.ones(20_000), right, match=cosine, matcher="eye", crops=crops))
    assert found.per_peak == pytest.approx(2, abs=0.1)
    assert found.per_look == pytest.approx(-1, abs=0.1)
    assert Doubt.from_table(found.to_table(), "config.json", "presence").looks_closer
    assert "per_box" not in found.to_table()


def test_what_learned_boxes_say_is_part_of_the_evidence() -> None:
    rng = np.random.default_rng(0)
    evidence, cosine, peak, look, box = rng.normal(size=(5, 20_000))
    right = (rng.random(20_000) < 1 / (1 + np.exp(-(evidence + peak - look + 2 * box)))).astype(float)
    answers = Answers(evidence, np.ones(20_000), right, cosine, "eye", np.stack([peak, look, box], 1))
    found = fit_doubt(answers)
    assert found.per_box == pytest.approx(2, abs=0.1)
    assert Doubt.from_table(found.to_table(), "config.json", "presence").per_box == round(found.per_box, 4)
    assert found.probability(0, 1, 0, 0, 0, 3) > found.probability(0, 1, 0, 0, 0, -3)
    assert fit_doubt(answers.without_signs(2)).per_box == 0
    assert not fit_doubt(answers.without_signs(0)).looks_closer


@pytest.mark.parametrize("right", [np.zeros(4), np.ones(4), np.zeros(0)])
def test_answers_that_are_all_alike_teach_nothing(right: np.ndarray) -> None:
    with pytest.raises(SeesayError, match="are right"):
        fit_doubt(Answers(np.arange(len(right), dtype=float), np.ones(len(right)), right))


def test_foreign_phrases_share_no_word_with_what_was_said_of_the_photo() -> None:
    own = {0: ["a dog", "grass"], 1: ["a red bus", "the street"], 2: ["two dogs", "a man"]}
    told = [["a dog on grass"], ["a red bus in the street"], ["two dogs and a man"]]
    found = draw_foreign(own, told, seed=0)
    assert [len(found[place]) for place in own] == [2, 2, 2]
    for place, texts in found.items():
        assert not set(texts) & set(own[place])
    assert found == draw_foreign(own, told, seed=0)


def test_the_share_of_right_words_counts_what_names_something() -> None:
    assert share_right("a dog on the grass", ["the dog runs"]) == 0.5
    assert share_right("on the", ["anything"]) == 0.0


def test_a_caption_is_unsure_where_it_is_expected_to_be_more_wrong_than_right() -> None:
    doubt = Doubt(slope=1.0, per_word=0.0, offset=2.0, least=0.5)
    sure, unsure = (judge(Caption("a dog", ("a", "dog"), log_prob, True), doubt) for log_prob in (-3.0, -9.0))
    assert (sure.confidence, sure.is_unsure) == (pytest.approx(0.731, abs=1e-3), False)
    assert (unsure.confidence, unsure.is_unsure) == (pytest.approx(0.269, abs=1e-3), True)
    plain = Caption("a dog", ("a", "dog"), -3.0, True)
    assert judge(plain, None) == plain


@pytest.mark.usefixtures("in_colours_cache")
def test_a_model_that_sees_colours_tells_those_that_are_there(halves: Path, aligner_run: Path) -> None:
    collection = boxed(data.load(halves).split("test"))
    found = gather_phrases(load_aligner(aligner_run / "weights"), collection)
    assert set(found.right) == {0.0, 1.0}
    assert found.evidence[found.right == 1].mean() > found.evidence[found.right == 0].mean()


def boxed(collection: Collection) -> Collection:
    items = []
    for item in collection.items:
        left, right = item.name.removesuffix(".png").split("_")
        marks = (Phrase(0, 0, 2, f"something {left}", "1", ("other",)), Phrase(0, 3, 4, right, "2", ("other",)))
        boxes = (Box("1", 0.0, 0.0, 0.5, 1.0), Box("2", 0.5, 0.0, 1.0, 1.0))
        items.append(replace(item, boxes=boxes, phrases=marks))
    return replace(collection, items=tuple(items))
