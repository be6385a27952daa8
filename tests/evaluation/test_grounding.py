"""Phrases that find their half of a picture, counted by hand, beside answers that look at no word."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seesay import data
from seesay.data import Box, Collection, Item, Phrase
from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.evaluation.grounding import boxed_phrases, evaluate_grounding, locate_phrases
from seesay.evaluation.protocols import EvaluationSet
from seesay.explainers import registry
from seesay.explainers.registry import Explainer, register_explainer
from seesay.grounding.boxed_phrases import phrase_vectors
from seesay.grounding.heat import heat_maps
from seesay.models.aligner import Aligner, load_aligner


@pytest.fixture
def aligner(aligner_run: Path, in_colours_cache: Path) -> Aligner:
    return load_aligner(aligner_run / "weights")


@pytest.fixture
def boxed(halves: Path) -> Collection:
    """The test pictures with a box around each half, and one more sentence with a phrase that has none."""
    collection = data.load(halves).split("test")
    items = []
    for item in collection.items:
        left, right = item.name.removesuffix(".png").split("_")
        boxes = (Box("1", 0.0, 0.0, 0.48, 1.0), Box("2", 0.52, 0.0, 1.0, 1.0))
        phrases = (
            Phrase(0, 0, 2, f"something {left}", "1", ("other",)),
            Phrase(0, 3, 4, right, "2", ("other", "colour")),
            Phrase(1, 0, 1, right, "2", ("other",)),
            Phrase(1, 1, 3, "and also", "0", ("notvisual",)),
        )
        items.append(replace(item, boxes=boxes, phrases=phrases))
    return replace(collection, items=tuple(items))


class TestPhrases:
    def test_those_with_a_box_are_taken_with_their_tokens(self) -> None:
        item = Item(
            "1.jpg", None, ("A blue-eyed man , alone",), "test",
            boxes=(Box("7", 0, 0, 0.5, 1), Box("7", 0.6, 0, 1, 1), Box("9", 0, 0, 1, 1)),
            phrases=(Phrase(0, 0, 3, "A blue eyed man", "7", ("people",)), Phrase(0, 4, 5, "alone", "8", ("other",)),
                     Phrase(0, 3, 4, ",", "9", ("other",))),
        )  # fmt: skip
        (phrase,) = boxed_phrases(Collection("x", Path("x"), "CSV or JSONL", (item,)))
        assert (phrase.item, phrase.sentence, phrase.span) == (0, 0, (0, 4))
        assert phrase.text == "A blue-eyed man"
        assert phrase.boxes.tolist() == [[0, 0, 0.5, 1], [0.6, 0, 1, 1]]

    def test_a_phrase_is_the_sum_of_its_words_alone_or_in_its_sentence(
        self, aligner: Aligner, boxed: Collection
    ) -> None:
        phrases = boxed_phrases(boxed)
        alone = phrase_vectors(TorchModel(aligner), boxed, phrases, "phrase")
        within = phrase_vectors(TorchModel(aligner), boxed, phrases, "sentence")
        for place, phrase in enumerate(phrases):
            sentence = boxed.items[phrase.item].sentences[phrase.sentence]
            first, last = phrase.span
            wanted = aligner.encode_texts([phrase.text]).states[0].sum(0)
            np.testing.assert_allclose(alone[place], wanted.detach(), atol=1e-5)
            wanted = aligner.encode_texts([sentence]).states[0, first:last].sum(0)
            np.testing.assert_allclose(within[place], wanted.detach(), atol=1e-5)

    def test_an_unknown_reading_is_answered_with_the_known_ones(self, aligner: Aligner, boxed: Collection) -> None:
        with pytest.raises(SeesayError, match=r"read 'backwards'\n  allowed: phrase, sentence"):
            evaluate_grounding(aligner, EvaluationSet(boxed), reading="backwards")


@pytest.mark.parametrize("reading", ["phrase", "sentence"])
def test_heat_is_that_of_a_phrases_vector_alone_or_in_its_sentence(
    aligner: Aligner, boxed: Collection, reading: str
) -> None:
    answers, item = TorchModel(aligner), boxed.items[0]
    phrases = [phrase for phrase in boxed_phrases(boxed) if phrase.item == 0]
    features = answers.features([item.image])
    found = locate_phrases(answers, features, item, phrases, reading)
    wanted = heat_maps(answers, features, phrase_vectors(answers, boxed, phrases, reading))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


class TestEvaluation:
    def test_the_first_explainer_of_a_model_is_measured(
        self, aligner: Aligner, boxed: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Right(Explainer):
            """Finds everything in the right half."""

            def locate(self, model: Any, features: Any, phrases: Sequence[str]) -> Any:
                return np.tile([0.0, 1.0], (len(phrases), 4, 1))

        monkeypatch.setattr(registry._REGISTRY, "_classes", dict(registry._REGISTRY._classes))
        register_explainer("right-half")(Right)
        monkeypatch.setattr(type(aligner), "explainers", ("right-half", "alignment"))
        found = evaluate_grounding(aligner, EvaluationSet(boxed), proposals="grid-1x2")
        assert found.rows["model"] == pytest.approx({"pointing": 200 / 3, "iou50": 200 / 3})  # two phrases of three

    @pytest.mark.parametrize("reading", ["phrase", "sentence"])
    def test_a_model_that_knows_colours_beats_everything_that_looks_at_no_word(
        self, aligner: Aligner, boxed: Collection, reading: str
    ) -> None:
        found = evaluate_grounding(aligner, EvaluationSet(boxed), proposals="grid-1x2", reading=reading)
        assert (found.n_phrases, found.n_images) == (18, 6)
        assert found.rows["model"]["pointing"] > 200 / 3  # twice what a blind choice reaches
        assert found.rows["model"]["iou50"] > 200 / 3
        assert found.rows["centre"] == {"pointing": 0.0, "iou50": 0.0}  # the whole picture has an IoU of 0.48
        # Of the whole picture and two halves one region in three is right.
        assert found.rows["random region"] == pytest.approx({"pointing": 100 / 3, "iou50": 100 / 3})
        assert found.upper_bound == 100

    def test_the_upper_bound_is_what_the_proposals_allow(self, aligner: Aligner, boxed: Collection) -> None:
        corner = tuple(replace(box, top=0.0, bottom=0.3) for box in boxed.items[0].boxes)
        boxed = replace(boxed, items=tuple(replace(item, boxes=corner) for item in boxed.items))
        found = evaluate_grounding(aligner, EvaluationSet(boxed), proposals="grid-1x2")
        assert (found.upper_bound, found.rows["model"]["iou50"]) == (0, 0)
        assert evaluate_grounding(aligner, EvaluationSet(boxed), proposals="grid-3x2").upper_bound == 100

    def test_each_kind_of_phrase_is_counted(self, aligner: Aligner, boxed: Collection) -> None:
        found = evaluate_grounding(aligner, EvaluationSet(boxed), proposals="grid-1x2")
        assert {kind: n for kind, (n, _) in found.by_kind.items()} == {"other": 18, "colour": 6}
        assert found.by_kind["other"][1]["model"] == found.rows["model"]

    def test_searched_proposals_are_found_and_kept(self, aligner: Aligner, boxed: Collection, tmp_path: Path) -> None:
        found = evaluate_grounding(aligner, EvaluationSet(boxed, store=tmp_path), proposals="search-5")
        assert 100 >= found.upper_bound >= found.rows["model"]["iou50"] > found.rows["random region"]["iou50"]
        assert [path.name for path in (tmp_path / "proposals").iterdir()] == ["search-5"]

    def test_a_collection_without_boxes_is_refused(self, aligner: Aligner, halves: Path) -> None:
        with pytest.raises(SeesayError, match=r"no phrase of halves has a box\n.*--entities"):
            evaluate_grounding(aligner, EvaluationSet(data.load(halves)))

    def test_missing_pictures_are_refused(self, aligner: Aligner, boxed: Collection) -> None:
        gone = replace(boxed, items=tuple(replace(item, image=None) for item in boxed.items))
        with pytest.raises(SeesayError, match="6 of 6 images with boxes are missing"):
            evaluate_grounding(aligner, EvaluationSet(gone))


def test_flickr8ks_test_photos_have_the_boxed_phrases_of_entities(shared_data: Path) -> None:
    collection = data.load(shared_data / "flickr8k").split("test")
    phrases = boxed_phrases(data.entities.attach(collection, shared_data / "flickr30k_entities"))
    assert 13_000 < len(phrases) < 13_200
