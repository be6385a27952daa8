"""Phrases ranked for regions, counted by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from seesay.data import Box, Collection, Item, Phrase
from seesay.errors import SeesayError
from seesay.evaluation.grounding import boxed_phrases
from seesay.evaluation.phrases import encode_phrase_texts, evaluate_phrases, gather_annotations, score_phrases
from seesay.images.extraction import FeatureStore, content_key
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes
from seesay.layers.sequences import Sequences
from seesay.models.aligner import Aligner
from seesay.models.base import Matcher
from seesay.text.vocabulary import Vocabulary

COLOURS = {"red": 0, "green": 1, "blue": 2}


class Whole(Matcher):
    """A joint embedding of colours that sees pictures as a whole; of several colours in a phrase the last counts."""

    family = "toy"

    def __init__(self) -> None:
        super().__init__(None, Vocabulary.build(["a"], min_count=1), FeatureSpec("efficientnet-lite0"))

    def encode_images(self, features: Features) -> Tensor:
        return features.pooled

    def encode_texts(self, sentences: list[str]) -> Tensor:
        return torch.stack([torch.eye(3)[COLOURS[text.split()[-1]]] for text in sentences])

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T


class Parts(Whole, Aligner):
    """The same, which knows regions and gives every word a vector."""

    def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
        return features.regions(boxes) + 1

    def encode_texts(self, sentences: list[str]) -> Sequences:  # type: ignore[override]
        lengths = torch.tensor([len(text.split()) for text in sentences])
        states = torch.full((len(sentences), int(lengths.max()), 3), 0.5)
        return Sequences(states, torch.ones(states.shape[:2], dtype=torch.int64), lengths)


@pytest.fixture
def halves(tmp_path: Path) -> tuple[Collection, Path]:
    """Two pictures: red beside green, and blue beside red. The store holds their maps."""
    layouts = {"rg.jpg": (0, 1), "br.jpg": (2, 0)}
    texts = {"rg.jpg": "The red and a green , red", "br.jpg": "a blue and the red , red"}
    items, keys, maps = [], [], []
    for name, (left, right) in layouts.items():
        path = tmp_path / name
        path.write_bytes(name.encode())
        keys.append(content_key(path))
        maps.append(np.stack([np.eye(3)[left], np.eye(3)[right]])[None])  # (1, 2, 3)
        boxes = (Box("1", 0.0, 0.0, 0.5, 1.0), Box("2", 0.5, 0.0, 1.0, 1.0))
        last = "1" if left == 0 else "2"
        phrases = (
            Phrase(0, 0, 2, "", "1", ("other",)),
            Phrase(0, 3, 5, "", "2", ("other",)),
            Phrase(0, 6, 7, "", last, ("other",)),
        )
        items.append(Item(name, path, (texts[name],), "test", boxes=boxes, phrases=phrases))
    store = FeatureStore(FeatureSpec("efficientnet-lite0"), root=tmp_path / "store", outputs=("pooled", "map"))
    stacked = np.array(maps, np.float32)
    store.write(keys, {"pooled": stacked.mean((1, 2)), "map": stacked})
    return Collection("halves", tmp_path, "CSV or JSONL", tuple(items)), tmp_path / "store"


def test_boxes_and_texts_are_numbered_once_and_pairs_share_a_chain(halves: tuple[Collection, Path]) -> None:
    about = gather_annotations(boxed_phrases(halves[0]))
    assert about.items == [0, 1]
    assert [len(boxes) for boxes in about.boxes] == [2, 2]
    assert about.texts == ["the red", "a green", "red", "a blue"]
    assert about.phrase_text.tolist() == [0, 1, 2, 3, 0, 2]
    assert about.pairs.tolist() == [[0, 0], [0, 2], [1, 1], [2, 3], [3, 4], [3, 5]]


def test_a_region_is_to_a_joint_embedding_a_picture_of_its_own(halves: tuple[Collection, Path]) -> None:
    found = evaluate_phrases(Whole(), halves[0], store=halves[1])
    assert (found.n_regions, found.n_images, found.n_candidates) == (4, 2, {"distinct": 4, "all": 6})
    distinct = found.rows["distinct"]["model"]
    assert distinct["region_to_phrase"]["r1"] == 100.0
    # Both red regions suit both red phrases, which belong to both.
    assert distinct["phrase_to_region"]["r1"] == 100.0


def test_equal_phrases_of_other_pictures_are_rivals_where_all_count(halves: tuple[Collection, Path]) -> None:
    """ "the red" and "red" of the other picture tie with the region's own two: its first answer stands third."""
    found = evaluate_phrases(Whole(), halves[0], store=halves[1])
    assert found.rows["all"]["model"]["region_to_phrase"]["r1"] == 50.0
    assert found.rows["all"]["model"]["region_to_phrase"]["median"] == 2.0


def test_a_model_that_knows_regions_is_asked_for_them_and_words_are_summed() -> None:
    maps = torch.eye(3)[[0, 1]][None, None]  # (1, 1, 2, 3)
    box = np.array([[0, 0, 0.5, 1]], np.float32)
    features = Features(maps.mean((1, 2)), maps)
    torch.testing.assert_close(Parts().region_vectors(features, box), torch.tensor([[2.0, 1.0, 1.0]]) / 6**0.5)
    torch.testing.assert_close(Whole().region_vectors(features, box), torch.tensor([[1.0, 0.0, 0.0]]))
    found = encode_phrase_texts(Parts(), ["a b c", "a"], batch=1)
    torch.testing.assert_close(found, torch.tensor([[1.5] * 3, [0.5] * 3]))


def test_a_phrase_finds_the_region_that_fits_and_not_the_longest() -> None:
    """Lengths that were never learned decide nothing; of a model that has learned them they count."""

    class Long(Parts):
        def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
            return features.regions(boxes) * torch.tensor([[[100.0], [1.0]]])

    class Weighed(Long):
        weighs_regions = True

    maps = torch.tensor([[0.8, 0.6, 0.0], [0.6, 0.8, 0.0]])[None, None]  # left rather red, right rather green
    halves = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
    features, green = Features(maps.mean((1, 2)), maps), torch.tensor([0.0, 1.0, 0.0])
    assert (Long().region_vectors(features, halves) @ green).argmax() == 1
    assert (Weighed().region_vectors(features, halves) @ green).argmax() == 0


def test_a_model_that_reads_phrases_in_its_own_way_is_asked_for_them() -> None:
    class Reader(Parts):
        def encode_phrases(self, phrases: Sequence[str]) -> Tensor:
            return torch.full((len(phrases), 3), 7.0)

    torch.testing.assert_close(encode_phrase_texts(Reader(), ["red"]), torch.full((1, 3), 7.0))


def test_a_captioner_is_asked_for_likelihoods() -> None:
    class Likely(Whole):
        normalisations = ("marginal", "none")

        def score(self, images: Tensor, texts: Tensor) -> Tensor:
            return (images @ texts.T).log()

    regions = torch.tensor([[0.5, 0.25, 0.25]])
    torch.testing.assert_close(score_phrases(Likely(), regions, ["red", "a blue"]), torch.tensor([[0.5, 0.25]]).log())
    torch.testing.assert_close(score_phrases(Whole(), regions, ["red", "a blue"]), torch.tensor([[0.5, 0.25]]))


def test_random_scores_reach_what_chance_does(halves: tuple[Collection, Path]) -> None:
    found = evaluate_phrases(Whole(), halves[0], store=halves[1])
    assert found.rows["all"]["random"]["region_to_phrase"]["r10"] == 100.0  # of six candidates
    assert found == evaluate_phrases(Whole(), halves[0], store=halves[1])


def test_a_collection_without_boxes_is_refused_with_what_to_do(halves: tuple[Collection, Path]) -> None:
    bare = replace(halves[0], items=tuple(replace(item, boxes=()) for item in halves[0].items))
    with pytest.raises(SeesayError, match="no phrase of halves has a box") as error:
        evaluate_phrases(Whole(), bare, store=halves[1])
    assert "--entities" in str(error.value.hint)
