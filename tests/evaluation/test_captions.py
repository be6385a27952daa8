"""Captions of a writer whose probabilities are known."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay.captioning.settings import Settings
from seesay.data import Collection
from seesay.evaluation.captions import CaptionEvaluation, evaluate_captions, training_sentences
from seesay.evaluation.protocols import PROTOCOLS, EvaluationSet
from seesay.metrics import captions as metrics
from seesay.metrics.captions import caption_report
from seesay.models.base import Captioner, Weights

DOG, CAT = (0.7, 0.1, 0.1, 0.1), (0.2, 0.5, 0.2, 0.1)


@pytest.fixture(autouse=True)
def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "why_no_meteor", lambda: "Java takes its time to start")


@pytest.fixture
def pictures(write_pictures: Callable[..., Any]) -> tuple[Collection, Path]:
    return write_pictures({"test": [(DOG, ["A dog.", "a brown dog"]), (CAT, ["a cow"])]})


def evaluate(writer: Captioner, pictures: tuple[Collection, Path], *rest: Any, **options: Any) -> CaptionEvaluation:
    collection, store = pictures
    return evaluate_captions(writer, EvaluationSet(collection, *rest, store=store), **options)


def test_the_captions_are_what_the_writer_says_and_are_held_against_all_sentences(writer, pictures) -> None:
    found = evaluate(writer, pictures)
    assert found.captions == {"test0.jpg": "a dog", "test1.jpg": "a cat"}
    expected = caption_report([["a", "dog"], ["a", "cat"]], [[["a", "dog"], ["a", "brown", "dog"]], [["a", "cow"]]])
    for name in ("bleu1", "bleu4", "cider", "rouge_l"):
        assert found.figures[name] == pytest.approx(expected[name])
    assert found.figures["bleu1"] == pytest.approx(3 / 4)  # one of four words is wrong
    assert (found.n_images, found.n_sentences, found.protocol) == (2, 3, PROTOCOLS["full"])
    assert list(found.seconds) == ["features", "perplexity", "captions", "metrics"]


def test_perplexity_is_that_of_the_sentences_that_people_wrote(writer, pictures) -> None:
    n_words = len(writer.vocabulary)
    sure, never = 1.001 / (1 + n_words / 1000), 0.001 / (1 + n_words / 1000)
    dog, cow = 0.701 / (1 + n_words / 1000), 0.101 / (1 + n_words / 1000)
    # "a dog", "a brown dog" of which "brown" is unknown and a third word is as unlikely as going on, "a cow"
    probabilities = [sure, dog, sure, sure, never, never, sure, sure, cow, sure]
    expected = math.exp(-sum(map(math.log, probabilities)) / len(probabilities))
    assert evaluate(writer, pictures).figures["perplexity"] == pytest.approx(expected, rel=1e-4)


def test_a_report_holds_the_figures_and_how_captions_were_written(writer, pictures) -> None:
    part = evaluate(writer, pictures, settings=Settings(beam=3)).to_report()
    assert list(part) == ["captions"]
    assert part["captions"]["decoding"] == "beam 3"
    assert part["captions"]["bleu1"] == 0.75
    assert (part["captions"]["meteor"], part["captions"]["novel"]) == (None, None)


def test_settings_change_what_is_written(writer, pictures) -> None:
    cut = evaluate(writer, pictures, settings=Settings(beam=1, max_length=1))
    assert cut.captions == {"test0.jpg": "a", "test1.jpg": "a"}
    assert cut.decoding == "greedy"


def test_a_protocol_chooses_the_images(writer, pictures) -> None:
    found = evaluate(writer, pictures, "limit-1")
    assert list(found.captions) == ["test0.jpg"]
    assert (found.protocol.name, found.n_images, found.n_sentences) == ("limit-1", 1, 2)


def test_what_is_novel_depends_on_the_training_sentences_as_they_are_tokenised(writer, pictures) -> None:
    assert evaluate(writer, pictures, training=["A dog!", "two cats"]).figures["novel"] == 0.5
    assert evaluate(writer, pictures, training=["A dog!", "a cat"]).figures["novel"] == 0.0


def test_progress_is_told_of_features_and_then_of_captions(writer, pictures, monkeypatch) -> None:
    told: list[tuple[int, int]] = []
    collection, store = pictures
    told_of = EvaluationSet(collection, store=store, on_progress=lambda *done: told.append(done))
    evaluate_captions(writer, told_of)
    assert told == [(2, 2), (2, 2)]


class TestTrainingSentences:
    def weights(self, *sources: dict[str, Any]) -> Weights:
        recipe = {"name": "x", "model": "mrnn", "data": {"train": list(sources), "dev": sources[0]}}
        return Weights(Path("nowhere"), {"name": "x", "recipe": {**recipe, "stop": {"epochs": 1}}})

    def test_they_are_those_of_every_source_of_the_recipe(self, tmp_path: Path) -> None:
        (tmp_path / "one.csv").write_text("image,sentence,split\na.jpg,a dog,train\nb.jpg,a cat,dev\n")
        (tmp_path / "two.csv").write_text("image,sentence,split\nc.jpg,a bus,train\nb.jpg,a cow,train\n")
        one, two = ({"source": str(tmp_path / f"{name}.csv")} for name in ("one", "two"))
        assert training_sentences(self.weights(one, two)) == ["a dog", "a bus", "a cow"]
        assert training_sentences(self.weights(one, {**two, "without": one["source"]})) == ["a dog", "a bus"]

    def test_there_are_none_where_a_collection_is_not_here(self, tmp_path: Path) -> None:
        assert training_sentences(self.weights({"source": str(tmp_path / "absent")})) is None
        assert training_sentences(Weights(tmp_path, {"name": "x"})) is None
