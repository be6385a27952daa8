"""Phrases that describe a region: all that people wrote, each once, and no two that say the same."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch

from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.grounding import phrases as phrase_bank
from seesay.grounding.phrases import (
    PHRASES,
    Phrase,
    PhraseBank,
    build_bank,
    describe_boxes,
    describe_regions,
    gather_phrases,
    has_phrases,
    read_bank,
    read_phrases,
    write_phrases,
)
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import fixed_regions
from seesay.models.hmlstm import HMLSTM, HMLSTMConfig
from seesay.models.pretrained import load
from seesay.text import readings as _readings
from seesay.text.trees import Tree
from seesay.text.vocabulary import Vocabulary

TREES = {
    "A dog in the snow.": '["S", ["NP", ["NP", "a", "dog"], ["PP", "in", ["NP", "the", "snow"]]]]',
    "The dog sees a dog": '["S", ["NP", "the", "dog"], ["VP", "sees", ["NP", "a", "dog"]]]',
    "it runs": '["S", ["NP", "it"], ["VP", "runs"]]',
}


def toy_parse(texts: Iterable[str]) -> list[Tree]:
    return [Tree.from_json(TREES[text]) for text in texts]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> HMLSTM:
    monkeypatch.setattr(_readings, "parse", toy_parse)
    monkeypatch.setattr(phrase_bank, "parse", toy_parse)
    torch.manual_seed(0)
    small = HMLSTMConfig(dim=6, hidden=5, word_dim=4, word_vectors="", fixed_words=False)
    model = HMLSTM(small, Vocabulary.build(TREES, min_count=1), FeatureSpec("efficientnet-lite0"))
    model.initialise(0)
    return model.eval()


def texts(phrases: list[Phrase]) -> list[str]:
    return [phrase.text for phrase in phrases]


@pytest.mark.usefixtures("model")
class TestPhrases:
    def test_every_distinct_phrase_stands_once_with_its_count_the_most_frequent_first(self) -> None:
        found = gather_phrases(TREES)
        assert {phrase.text: phrase.count for phrase in found} == {
            "a dog": 2, "a dog in the snow": 1, "the snow": 1, "the dog": 1,
        }  # fmt: skip
        assert found[0].text == "a dog"

    def test_rare_short_and_long_phrases_are_left_out_where_they_are_not_wanted(self) -> None:
        assert "it" in texts(gather_phrases(TREES, min_words=1))
        assert "a dog in the snow" not in texts(gather_phrases(TREES, max_words=3))
        assert texts(gather_phrases(TREES, min_count=2)) == ["a dog"]

    def test_what_is_written_is_read_again_with_its_trees(self, tmp_path: Path) -> None:
        phrases = gather_phrases(TREES)
        write_phrases(phrases, tmp_path / "phrases.json")
        assert read_phrases(tmp_path / "phrases.json") == phrases

    @pytest.mark.parametrize("content", [None, "[", "[1, 2]", '[[1, {"NP": 2}]]', "{}x"])
    def test_a_file_that_is_missing_or_damaged_is_named(self, tmp_path: Path, content: str | None) -> None:
        path = tmp_path / "weights" / "phrases.json"
        if content is not None:
            path.parent.mkdir()
            path.write_text(content)
        with pytest.raises(SeesayError, match="weights has no phrases" if content is None else "holds no phrases"):
            read_phrases(path)


@pytest.mark.parametrize("batch", [1, 256])
def test_a_phrase_of_the_bank_is_what_it_was_within_its_sentence(model: HMLSTM, batch: int) -> None:
    bank = build_bank(TorchModel(model), gather_phrases(TREES), batch=batch)
    found = model.encode_trees(["The dog sees a dog", "A dog in the snow."])
    wanted = ["the dog", "a dog", "a dog in the snow", "a dog", "the snow"]
    for text, vector in zip(wanted, found.phrases, strict=True):
        np.testing.assert_allclose(bank.vectors[bank.texts.index(text)], vector.detach(), atol=1e-6)


@pytest.mark.parametrize(
    "content",
    [
        '[[1e400, ["NP", "a"]]]',
        '[[0, ["NP", "a"]]]',
        '[["2", ["NP", "a"]]]',
        '[[2, ["NP"]]]',
        '[[2, ["NP", "\\ud800"]]]',
        "5",
    ],
)
def test_what_is_no_list_of_phrases_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / PHRASES).write_text(content)
    with pytest.raises(SeesayError, match="holds no phrases"):
        read_phrases(tmp_path / PHRASES)


def test_a_bank_needs_phrases(model: HMLSTM) -> None:
    with pytest.raises(SeesayError, match="no phrases to describe regions with"):
        build_bank(TorchModel(model), [])


def test_the_regions_of_a_picture_are_described_by_what_fits_them(model: HMLSTM) -> None:
    bank = build_bank(TorchModel(model), gather_phrases(TREES))
    maps = torch.rand(1, 4, 4, 1280, generator=torch.Generator().manual_seed(0))
    features, boxes = Features(maps.mean((1, 2)), maps), fixed_regions("grid-1x2")
    found = describe_boxes(TorchModel(model), bank, features.to_arrays(), boxes, 2)
    with torch.inference_mode():
        expected = describe_regions(bank, model.encode_regions(features, boxes)[0].numpy(), 2)
    assert found == expected
    assert len(found) == len(boxes)


def bank_of(*angles: float) -> PhraseBank:
    vectors = np.array([[np.cos(angle), np.sin(angle)] for angle in angles], np.float32)
    return PhraseBank(tuple(f"{angle:g}" for angle in angles), vectors)


def test_without_diversity_the_best_phrases_stand_in_the_order_of_their_scores() -> None:
    bank, region = bank_of(0.5, 0.1, 0.0, 1.2), np.array([[1.0, 0.0]], np.float32)
    (found,) = describe_regions(bank, region, 3, diversity=0)
    assert [phrase.text for phrase in found] == ["0", "0.1", "0.5"]
    assert [phrase.score for phrase in found] == pytest.approx([1.0, 0.995, 0.8776], abs=1e-3)


def test_a_phrase_that_says_the_same_gives_way_to_one_that_adds_something() -> None:
    bank, region = bank_of(0.25, 0.24, 0.9), bank_of(0.3).vectors
    (found,) = describe_regions(bank, region, 2, diversity=0.5)
    assert [phrase.text for phrase in found] == ["0.25", "0.9"]
    (alike,) = describe_regions(bank, region, 2, diversity=0)
    assert [phrase.text for phrase in alike] == ["0.25", "0.24"]


def test_each_region_has_its_own_and_no_more_than_there_are() -> None:
    found = describe_regions(bank_of(0.0, 1.5), bank_of(0.1, 1.4).vectors, 5)
    assert [[phrase.text for phrase in own] for own in found] == [["0", "1.5"], ["1.5", "0"]]


@pytest.mark.parametrize(("n", "diversity"), [(0, 0.5), (3, -0.1), (3, 1.5)])
def test_impossible_wishes_are_refused(n: int, diversity: float) -> None:
    with pytest.raises(SeesayError, match="phrases at a diversity"):
        describe_regions(bank_of(0.0), np.ones((1, 2), np.float32), n, diversity=diversity)


@pytest.mark.usefixtures("colours_named", "in_colours_cache")
def test_weights_bring_phrases_that_are_read_without_a_parser(
    phrases_run: Path, aligner_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(phrases_run / "weights", tmp_path / "weights")
    write_phrases([Phrase(Tree.from_json(f'["NP", "{colour}"]'), 2) for colour in ("red", "blue")], folder / PHRASES)
    model = load(folder)
    assert isinstance(model, HMLSTM)
    expected = model.encode_phrases(["red", "blue"])
    monkeypatch.setattr(_readings, "parse", lambda sentences: pytest.fail(f"asked for {sentences}"))
    bank = read_bank(TorchModel(load(folder)))
    assert bank.texts == ("red", "blue")
    np.testing.assert_allclose(bank.vectors, expected, atol=1e-6)
    assert has_phrases(folder)
    assert not has_phrases(aligner_run / "weights")
    with pytest.raises(SeesayError, match="has no phrases to describe regions with"):
        read_bank(TorchModel(load(aligner_run / "weights")))
