"""The verbs that every matcher answers, and what a configuration may say."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone, load_backbone
from seesay.images.features import FeatureSpec, compute
from seesay.layers.dropout import without_dropout
from seesay.models.base import Weights
from seesay.models.registry import family_class
from seesay.models.vse import VSE

SENTENCES = ["a dog runs", "a red bus"]


@pytest.fixture
def pictures() -> list[Image.Image]:
    return [Image.new("RGB", (40, 30), colour) for colour in ("red", "green", "blue")]


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return load_backbone("efficientnet-lite0", size=64)


@pytest.fixture(autouse=True)
def load_once(backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the network takes longer than running it on these pictures."""
    monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: backbone)


@pytest.fixture
def model(build: Callable[..., VSE]) -> VSE:
    return build()


class TestMatch:
    def test_every_picture_is_scored_against_every_sentence(self, model: VSE, pictures: list[Image.Image]) -> None:
        scores = model.match(pictures, SENTENCES)
        assert scores.shape == (3, 2)
        assert scores.abs().max() <= 1
        for row, picture in enumerate(pictures):
            for column, sentence in enumerate(SENTENCES):
                torch.testing.assert_close(model.match(picture, sentence), scores[row, None, column, None])

    def test_a_picture_may_be_a_path_the_bytes_of_a_file_or_opened(
        self, model: VSE, pictures: list[Image.Image], tmp_path: Path
    ) -> None:
        buffer = io.BytesIO()
        pictures[0].save(buffer, "PNG")
        path = tmp_path / "red.png"
        path.write_bytes(buffer.getvalue())
        scores = model.match([path, str(path), buffer.getvalue(), pictures[0]], SENTENCES)
        assert torch.equal(scores, scores[:1].expand(4, -1))
        torch.testing.assert_close(model.match(str(path), SENTENCES), scores[:1])
        torch.testing.assert_close(model.match(buffer.getvalue(), SENTENCES), scores[:1])

    def test_the_features_are_those_that_the_model_was_built_for(
        self, build: Callable[..., VSE], pictures: list[Image.Image], backbone: Backbone
    ) -> None:
        model = build(image_pooling="attention", n_regions=2)
        expected = compute(pictures, backbone)
        found = model.features(pictures)
        np.testing.assert_allclose(found.pooled, expected["pooled"], atol=2e-3, rtol=2e-3)
        assert found.map is not None
        np.testing.assert_allclose(found.map, expected["map"], atol=2e-3, rtol=2e-3)

    def test_the_network_is_loaded_once_and_is_no_part_of_the_weights(
        self, model: VSE, pictures: list[Image.Image], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = set(model.state_dict())
        model.match(pictures[0], "a dog")
        monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: pytest.fail("loaded again"))
        model.match(pictures[1], "a dog")
        assert set(model.state_dict()) == names

    def test_nothing_to_match_is_refused(self, model: VSE, pictures: list[Image.Image]) -> None:
        with pytest.raises(SeesayError, match="there are no sentences to match"):
            model.match(pictures, [])
        with pytest.raises(SeesayError, match="there are no images to match"):
            model.match([], SENTENCES)

    def test_a_picture_that_cannot_be_opened_is_named(self, model: VSE, tmp_path: Path) -> None:
        with pytest.raises(SeesayError, match=r"absent\.jpg"):
            model.match(tmp_path / "absent.jpg", SENTENCES)

    def test_scores_carry_no_gradient(self, model: VSE, pictures: list[Image.Image]) -> None:
        assert not model.match(pictures, SENTENCES).requires_grad


def test_scores_are_divided_by_the_temperature_of_the_training(model: VSE) -> None:
    assert model.temperature == 1.0
    model.weights = Weights(Path("somewhere"), {"name": "x", "recipe": {"loss": {"temperature": 0.05}}})
    assert model.temperature == 0.05


def test_a_model_is_left_as_it_was_also_after_an_error(model: VSE) -> None:
    for is_training in (True, False):
        model.train(is_training)
        with without_dropout(model):
            assert not model.training
        assert model.training is is_training
        with pytest.raises(SeesayError, match="no model family"), without_dropout(model):
            family_class("eyeball")
        assert model.training is is_training


def test_no_sentences_are_no_rows_of_words(model: VSE) -> None:
    words, lengths = model.word_rows([])
    assert (len(words), lengths.tolist(), words.dtype) == (0, [], torch.long)
