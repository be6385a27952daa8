"""Phrases that describe a region: all that people wrote, each once, and no two that say the same."""

import pytest
import torch
import torch.nn.functional as F

from seesay.errors import SeesayError
from seesay.images.features import FeatureSpec
from seesay.models import _readings
from seesay.models.hmlstm import HMLSTM, HMLSTMConfig
from seesay.phrase_bank import PhraseBank, build_bank, describe_regions
from seesay.text.trees import Tree
from seesay.text.vocabulary import Vocabulary

TREES = {
    "A dog in the snow.": '["S", ["NP", ["NP", "a", "dog"], ["PP", "in", ["NP", "the", "snow"]]]]',
    "The dog sees a dog": '["S", ["NP", "the", "dog"], ["VP", "sees", ["NP", "a", "dog"]]]',
    "it runs": '["S", ["NP", "it"], ["VP", "runs"]]',
}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> HMLSTM:
    monkeypatch.setattr(_readings, "parse", lambda texts: [Tree.from_json(TREES[text]) for text in texts])
    torch.manual_seed(0)
    small = HMLSTMConfig(dim=6, hidden=5, word_dim=4, word_vectors="", fixed_words=False)
    model = HMLSTM(small, Vocabulary.build(TREES, min_count=1), FeatureSpec("efficientnet-lite0"))
    model.initialise(0)
    return model


@pytest.mark.parametrize("batch", [1, 256])
def test_every_distinct_phrase_stands_once_with_its_vector_and_its_count(model: HMLSTM, batch: int) -> None:
    bank = build_bank(model, list(TREES), batch=batch)
    assert dict(zip(bank.texts, bank.counts, strict=True)) == {
        "a dog in the snow": 1, "a dog": 2, "the snow": 1, "the dog": 1,
    }  # fmt: skip
    model.eval()
    found = model.encode_trees(["The dog sees a dog"]).phrases
    torch.testing.assert_close(bank.vectors[bank.texts.index("the dog")], found[0])
    torch.testing.assert_close(bank.vectors[bank.texts.index("a dog")], found[1])


def test_short_and_long_phrases_are_left_out_where_they_are_not_wanted(model: HMLSTM) -> None:
    assert "it" in build_bank(model, list(TREES), min_words=1).texts
    assert "a dog in the snow" not in build_bank(model, list(TREES), max_words=3).texts
    with pytest.raises(SeesayError, match="1 sentences hold no noun phrase"):
        build_bank(model, ["it runs"])


def bank_of(*angles: float) -> PhraseBank:
    vectors = torch.tensor([[torch.tensor(angle).cos(), torch.tensor(angle).sin()] for angle in angles])
    return PhraseBank(tuple(f"{angle:g}" for angle in angles), (1,) * len(angles), vectors)


def test_without_diversity_the_best_phrases_stand_in_the_order_of_their_scores() -> None:
    bank, region = bank_of(0.5, 0.1, 0.0, 1.2), torch.tensor([[1.0, 0.0]])
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
    found = describe_regions(bank_of(0.0, 1.5), F.normalize(torch.tensor([[1.0, 0.1], [0.1, 1.0]])), 5)
    assert [[phrase.text for phrase in own] for own in found] == [["0", "1.5"], ["1.5", "0"]]


@pytest.mark.parametrize(("n", "diversity"), [(0, 0.5), (3, -0.1), (3, 1.5)])
def test_impossible_wishes_are_refused(n: int, diversity: float) -> None:
    with pytest.raises(SeesayError, match="phrases at a diversity"):
        describe_regions(bank_of(0.0), torch.ones(1, 2), n, diversity=diversity)
