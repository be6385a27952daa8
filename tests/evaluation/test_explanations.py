"""The games on photos of two colours, for a model that knows colours and a network that sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from seesay.data import Box, Collection, Item, Phrase
from seesay.errors import SeesayError
from seesay.evaluation.explanations import compare_pointing, evaluate_explanations
from seesay.evaluation.gradients import gradient_maps, last_block, word_gradients
from seesay.evaluation.grounding import boxed_phrases
from seesay.evaluation.taking_away import hottest_share
from seesay.evaluation.tasks import abilities
from seesay.evaluation.tasks.explanations import ExplanationsTask
from seesay.images.backbones import Backbone
from seesay.images.features import Features, FeatureSpec
from seesay.layers.sequences import Sequences
from seesay.models.base import Matcher
from seesay.text.tokens import tokenize
from seesay.text.vocabulary import Vocabulary

COLOURS = {"red": (1.0, 0.0, 0.0), "blue": (0.0, 0.0, 1.0)}
VOCABULARY = Vocabulary.build(["a red blue thing here"], min_count=1)


@dataclass(frozen=True)
class NoConfig:
    pass


class Painter(Matcher):
    """An image is its mean colour, a sentence the sum of the colours that it names."""

    family = "painter"
    config_type = NoConfig
    is_embedding = True
    explainers = ("alignment",)

    def encode_images(self, features: Features) -> Tensor:
        return features.pooled

    def encode_texts(self, sentences: Sequence[str]) -> Any:
        words = [[COLOURS.get(word, (0.0, 0.0, 0.0)) for word in tokenize(sentence)] for sentence in sentences]
        return torch.tensor(np.array([np.sum(row, axis=0) for row in words]), dtype=torch.float32)

    def score(self, images: Tensor, texts: Any) -> Tensor:
        return images @ texts.T


class Reader(Painter):
    """The same, which keeps the words of a sentence apart."""

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        (words,) = ([COLOURS.get(word, (0.0, 0.0, 0.0)) for word in tokenize(sentence)] for sentence in sentences)
        states = torch.tensor([words])
        return Sequences(states, torch.zeros(states.shape[:2], dtype=torch.long), torch.tensor([len(words)]))

    def score(self, images: Tensor, texts: Any) -> Tensor:
        return images @ texts.states.sum(1).T


@pytest.fixture
def eye(monkeypatch: pytest.MonkeyPatch) -> Backbone:
    """A network whose map is the image in four times four cells."""
    network = nn.Sequential(nn.AvgPool2d(8), nn.Identity())
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    eye = Backbone("eye", 32, "0" * 64, network, head, (0.0,) * 3, (255.0,) * 3)
    monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: eye)
    return eye


@pytest.fixture
def painter(eye: Backbone) -> Painter:
    return Painter(NoConfig(), VOCABULARY, FeatureSpec("efficientnet-lite0", 32))


@pytest.fixture
def photos(tmp_path: Path) -> Collection:
    """Two photos, red and blue side by side, with a box around what is red."""
    items = []
    for name, left in (("one", 0), ("two", 16)):
        image = Image.new("RGB", (32, 32), "#0000ff")
        image.paste("#ff0000", (left, 0, left + 16, 32))
        image.save(tmp_path / f"{name}.png")
        box = Box("1", left / 32 + 0.02, 0.0, left / 32 + 0.48, 1.0)
        phrases = (Phrase(0, 0, 3, "a red thing", "1", ("other",)),)
        items.append(Item(f"{name}.png", tmp_path / f"{name}.png", ("a red thing here",), "test", (box,), phrases))
    return Collection("halves", tmp_path, "CSV or JSONL", tuple(items))


def test_an_explainer_that_is_right_wins_every_game(painter: Painter, photos: Collection, tmp_path: Path) -> None:
    found = evaluate_explanations(painter, photos, beside=painter, store=tmp_path / "store")
    assert (found.n_phrases, found.n_photos, found.n_hidden, found.n_sentences) == (2, 2, 2, 2)
    assert found.pointing["alignment"].mean == found.pointing["alignment (painter)"].mean == 100
    assert found.pointing["centre"].mean == 0
    assert found.better["alignment"]["centre"].mean == 100
    assert {"gradient", "gradient × input", "positive gradient × input", "brightest place, no words"} < {
        *found.pointing
    }
    for share in ("0.1", "0.2", "0.4"):
        assert found.hiding["alignment"][share] > found.hiding["same shape elsewhere"][share]
    # Half of the photo is red, and no other word counts.
    assert found.leaving_out["alignment"] == {"1": 0.5, "2": 0.5}
    assert found.leaving_out["random word"]["1"] < 0.5
    assert "gradient × input" not in found.leaving_out  # a sentence is one vector: its words have none
    # Both photos are described by the same colour.
    assert found.dependence.correlation == {"alignment": 1.0, "alignment (painter)": 1.0}
    assert found.to_report()["explanations"]["pointing"]["centre"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert set(found.seconds) == {"features", "pointing", "hiding", "leaving out", "dependence"}


def test_the_table_has_a_row_for_each_explainer_and_baseline(
    painter: Painter, photos: Collection, tmp_path: Path
) -> None:
    report = evaluate_explanations(painter, photos, n_hidden=1, store=tmp_path / "store").to_report()
    rows = dict(ExplanationsTask().rows(report))
    columns = {column.key for group in ExplanationsTask.columns.values() for column in group}
    assert set(rows["alignment"]) == columns
    assert not any("." in key for key in columns)  # which a table would read as a key within a key
    assert (rows["alignment"]["mean"], rows["alignment"]["left out 1"]) == (100, 0.5)
    assert rows["centre"] == {"mean": 0, "low": 0, "high": 0}
    assert set(rows["random word"]) == {"left out 1", "left out 2"}
    assert "explanations" in abilities(painter)
    (remark,) = ExplanationsTask().remarks(report | {"model": {"name": "painter"}})
    assert "2 boxed phrases of 2 photos, explained by painter" in remark
    assert "Hiding: parts of 1 photos" in remark


def test_only_as_many_photos_as_asked_for_are_drawn(painter: Painter, photos: Collection, tmp_path: Path) -> None:
    found = evaluate_explanations(painter, photos, n_photos=1, store=tmp_path / "store")
    assert (found.n_photos, found.n_phrases) == (1, 1)
    assert "alignment (painter)" not in found.pointing


def test_photos_without_boxes_are_refused(painter: Painter, photos: Collection) -> None:
    bare = Collection("bare", photos.root, "CSV or JSONL", (Item("one", photos.items[0].image, ("a",), "test"),))
    with pytest.raises(SeesayError, match="no phrase of bare has a box"):
        evaluate_explanations(painter, bare)


def test_a_model_that_nothing_explains_is_refused(painter: Painter, photos: Collection) -> None:
    class Silent(Painter):
        explainers = ()

    with pytest.raises(SeesayError, match="no installed explainer explains painter"):
        evaluate_explanations(Silent(NoConfig(), VOCABULARY, painter.feature_spec), photos)


def test_pointing_is_compared_phrase_by_phrase(photos: Collection) -> None:
    phrases = boxed_phrases(photos)  # red is at the left, then at the right
    points = {"own": np.array([[0.2, 0.5], [0.2, 0.5]]), "right": np.array([[0.2, 0.5], [0.8, 0.5]])}
    shares, better = compare_pointing(points, phrases, ["own"])
    assert (shares["own"].mean, shares["right"].mean) == (50, 100)
    assert {name: {other: row.mean for other, row in rows.items()} for name, rows in better.items()} == {
        "own": {"right": -50.0}
    }


def test_the_gradient_of_a_mean_times_the_input_is_each_cells_share_of_the_score(
    painter: Painter, eye: Backbone, photos: Collection
) -> None:
    cells = torch.rand(1, 2, 3, 3, generator=torch.Generator().manual_seed(0))
    features = Features(cells.mean((1, 2)), cells)
    maps = gradient_maps(painter, features, "red blue")
    np.testing.assert_allclose(maps["gradient × input"], (cells[0, ..., 0] + cells[0, ..., 2]) / 6, rtol=1e-5)
    score = painter.score(painter.encode_images(features), painter.encode_texts(["red blue"]))
    assert maps["gradient × input"].sum() == pytest.approx(float(score))
    block = last_block(eye, Image.open(photos.items[0].image))
    assert block is not None
    np.testing.assert_allclose(block[0, 0], [[1, 1, 0, 0]] * 4)
    plain = gradient_maps(painter, features, "red blue", eye, block)["gradient"]
    np.testing.assert_allclose(plain, np.full((4, 4), 2 / 16), rtol=1e-5)


def test_a_words_gradient_times_its_input_is_what_it_adds_to_the_score() -> None:
    model = Reader(NoConfig(), VOCABULARY, FeatureSpec("efficientnet-lite0", 32))
    cells = torch.tensor([0.5, 0.0, 0.25]).expand(1, 2, 2, 3)
    features = Features(cells.mean((1, 2)), cells)
    np.testing.assert_allclose(word_gradients(model, features, "a red blue thing", 4), [0, 0.5, 0.25, 0])


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_the_share_that_is_hidden_is_the_hottest(share: float) -> None:
    mask = hottest_share(np.arange(16.0).reshape(4, 4), share, 20)
    assert mask.mean() == pytest.approx(share, abs=0.01)
    assert mask[-1, -1]
    assert not mask[0].any()
