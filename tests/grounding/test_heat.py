"""Heat maps of words, with models small enough to follow by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.grounding.heat import heat_maps, region_saliences, salient_boxes, term_vectors
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes
from seesay.layers.sequences import Sequences
from seesay.models.aligner import Aligner
from seesay.models.base import Matcher
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

VOCABULARY = Vocabulary.build(["grass sky"], min_count=1)
MEANINGS = {"grass": (1.0, 0.0), "sky": (0.0, 1.0)}


@dataclass(frozen=True)
class NoConfig:
    pass


class Meadow(Matcher):
    """An image is the mean of its map, two numbers: how much grass, and how much sky."""

    family = "meadow"
    config_type = NoConfig
    is_embedding = True

    def encode_images(self, features: Features) -> Tensor:
        return features.pooled

    def encode_texts(self, sentences: Sequence[str]) -> Any:
        return torch.tensor([MEANINGS.get(sentence, (0.0, 0.0)) for sentence in sentences])

    def score(self, images: Tensor, texts: Any) -> Tensor:
        return images @ texts.T


class Ranger(Meadow, Aligner):
    """The same with a vector for each word and each region."""

    def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
        return features.regions(boxes)

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        rows = [sentence.split() for sentence in sentences]
        states = torch.zeros(len(rows), 2, 2)
        for place, row in enumerate(rows):
            states[place, : len(row)] = torch.tensor([MEANINGS[word] for word in row])
        return Sequences(states, torch.zeros(len(rows), 2, dtype=torch.long), torch.tensor([len(row) for row in rows]))


def image() -> Features:
    """Sky in the upper row, grass in the lower one, and of both a little everywhere."""
    rows = torch.tensor([[[0.1, 0.9], [0.1, 0.9]], [[0.9, 0.1], [0.7, 0.1]]])  # (2, 2, 2)
    return Features(rows.mean((0, 1))[None], rows[None])


def make(kind: type[Matcher]) -> TorchModel:
    return TorchModel(kind(NoConfig(), VOCABULARY, FeatureSpec()))


def word_maps(model: TorchModel, features: Features, words: Sequence[str]) -> np.ndarray:
    return heat_maps(model, features.to_arrays(), term_vectors(model, words))


def test_a_word_lights_up_where_it_is_more_than_the_mean_of_common_words() -> None:
    maps = word_maps(make(Meadow), image(), ["grass", "sky"])
    # The common word is (0.5, 0.5): grass is left with (0.5, -0.5), sky with the opposite.
    np.testing.assert_allclose(maps[0], [[-0.4, -0.4], [0.4, 0.3]], atol=1e-6)
    np.testing.assert_allclose(maps[1], -maps[0], atol=1e-6)


def test_an_aligner_is_asked_for_the_vectors_that_it_has_learned() -> None:
    maps = word_maps(make(Ranger), image(), ["sky", "grass sky"])
    np.testing.assert_allclose(maps[0], [[0.9, 0.9], [0.1, 0.1]], atol=1e-6)
    np.testing.assert_allclose(maps[1], [[1.0, 1.0], [1.0, 0.8]], atol=1e-6)  # a phrase is the sum of its words


def test_a_model_that_looks_at_several_regions_takes_a_cell_for_all_of_them() -> None:
    torch.manual_seed(0)
    config = VSEConfig(dim=4, word_dim=3, image_pooling="attention", n_regions=5, image_dim=6, map_dim=6)
    model = VSE(config, VOCABULARY, FeatureSpec()).eval().requires_grad_(False)
    cells = torch.rand(1, 3, 2, 6)
    maps = word_maps(TorchModel(model), Features(cells.mean((1, 2)), cells), ["grass"])
    common = model.encode_texts(VOCABULARY.words[4:]).mean(0)
    alone = model.encode_images(Features(cells[:, 2, 1], cells[:, 2:, 1:]))
    assert maps.shape == (1, 3, 2)
    assert maps[0, 2, 1] == pytest.approx(float(alone[0] @ (model.encode_texts(["grass"])[0] - common)), abs=1e-6)


def test_a_model_without_vectors_for_sentences_is_refused() -> None:
    class Strange(Meadow):
        is_embedding = False

    for ask in (
        lambda: term_vectors(make(Strange), ["grass"]),
        lambda: heat_maps(make(Strange), image().to_arrays(), np.ones((1, 2))),
    ):
        with pytest.raises(SeesayError, match="meadow cannot say which region"):
            ask()


@pytest.mark.parametrize("features", [Features(torch.ones(1, 2)), Features(torch.ones(2, 2), torch.ones(2, 1, 1, 2))])
def test_features_of_several_images_or_without_a_map_are_a_mistake_of_the_caller(features: Features) -> None:
    with pytest.raises(ValueError, match="one image with its map"):
        heat_maps(make(Ranger), features.to_arrays(), np.zeros((1, 2)))


def test_a_heat_map_is_the_product_of_every_cell_with_a_vector() -> None:
    feature_map = torch.arange(12.0).reshape(1, 2, 3, 2)
    vectors = np.array([[1.0, 0.0], [0.5, -1.0]])
    heat = heat_maps(make(Ranger), Features(torch.zeros(1, 2), feature_map).to_arrays(), vectors)
    np.testing.assert_allclose(heat[0], [[0, 2, 4], [6, 8, 10]], atol=1e-5)
    np.testing.assert_allclose(heat[1], [[-1, -2, -3], [-4, -5, -6]], atol=1e-5)


class Weigher(Ranger):
    """One that has learned how long regions are."""

    @property
    def weighs_regions(self) -> bool:
        return True


def test_salient_is_what_a_word_names_whatever_the_length_of_its_vector() -> None:
    cells = torch.tensor([[[5.0, 5.0], [1.0, 0.0]]])[None]  # left: long, and between two words; right: grass
    features = Features(torch.zeros(1, 2), cells.reshape(1, 1, 2, 2)).to_arrays()
    boxes = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1], [0.75, 0, 1, 1]], np.float32)
    ranger, weigher = make(Ranger), make(Weigher)
    wanted = [[0.5**0.5 * 0.5**0.5, 0.5**0.5, 0.25**0.5]]
    np.testing.assert_allclose(region_saliences(ranger, features, boxes), wanted, rtol=1e-5)
    assert salient_boxes(ranger, features, boxes, 1).tolist() == [1]
    assert salient_boxes(weigher, features, boxes, 1).tolist() == [0]
