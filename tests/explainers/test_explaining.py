"""One question for all explainers: what each gives, and who is refused."""

import json
from typing import Any

import numpy as np
import pytest
import torch

from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.excitation.match import match_saliency
from seesay.explainers.explaining import explain
from seesay.explainers.explanation import Step
from seesay.explainers.registry import find_explainer
from seesay.grounding.heat import box_overlaps, heat_maps, term_vectors
from seesay.images.arrays import ImageFeatures
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import windows
from seesay.models.base import LONGEST
from seesay.models.identifier import Identifier, IdentifierConfig
from seesay.models.smlstm import SMLSTM, SMLSTMConfig
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

VOCABULARY = Vocabulary.build(["a dog runs in the snow"], min_count=1)


@pytest.fixture
def identifier() -> TorchModel:
    torch.manual_seed(0)
    config = IdentifierConfig(dim=6, hidden=8, word_dim=4, image_dim=5, word_vectors="")
    model = Identifier(config, VOCABULARY, FeatureSpec())
    model.initialise(0)
    model.calibration.copy_(torch.tensor([2.0, 0.0, 1.0]))
    return TorchModel(model.eval().requires_grad_(False))


@pytest.fixture
def embedding() -> TorchModel:
    torch.manual_seed(0)
    model = VSE(VSEConfig(dim=8, word_dim=4, image_dim=5, word_vectors=""), VOCABULARY, FeatureSpec())
    model.initialise(0)
    return TorchModel(model.eval().requires_grad_(False))


@pytest.fixture
def features() -> ImageFeatures:
    cells = torch.rand(1, 2, 3, 5, generator=torch.Generator().manual_seed(1))
    return Features(cells.mean((1, 2)), cells).to_arrays()


@pytest.mark.parametrize("method", ["excitation", "contrastive"])
def test_an_identifier_is_explained_by_what_excites_it(
    identifier: TorchModel, features: ImageFeatures, method: str
) -> None:
    found = explain(identifier, features, "A dog runs!", method)
    wanted = match_saliency(
        identifier.model, Features.of_arrays(features), ["a dog runs"], contrastive=method == "contrastive"
    )
    assert found.words == ("a", "dog", "runs")
    np.testing.assert_allclose(found.weights, wanted.words[0])
    np.testing.assert_allclose(found.map, wanted.maps[0])
    assert found.score == pytest.approx(float(wanted.logits[0]))
    assert found.probability == pytest.approx(float(torch.sigmoid(wanted.logits[0] / 2)))


def build_smlstm(**config: Any) -> TorchModel:
    torch.manual_seed(0)
    small = {"dim": 8, "hidden": 6, "units": 4, "similarity_dim": 4, "word_dim": 4, "image_dim": 5, "map_dim": 5}
    model = SMLSTM(SMLSTMConfig(**(small | config)), VOCABULARY, FeatureSpec())
    model.initialise(0)
    return TorchModel(model.eval().requires_grad_(False))


class TestAttention:
    def test_each_step_is_a_map_and_words_and_together_they_are_their_mean(self, features: ImageFeatures) -> None:
        model = build_smlstm()
        found = explain(model, features, "A dog runs!", "attention")
        assert len(found.steps) == 3
        for step in found.steps:
            assert step.map.shape == (2, 3)
            assert step.map.sum() == pytest.approx(1)
            assert step.weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(found.map, np.mean([step.map for step in found.steps], axis=0))
        np.testing.assert_allclose(found.weights, np.mean([step.weights for step in found.steps], axis=0))
        score = model.score(model.encode_images(features), model.encode_texts(["a dog runs"]))
        assert found.score == pytest.approx(score.item())
        assert [row["words"] for row in found.to_dict()["steps"]] == [step.top(found.words) for step in found.steps]

    def test_the_words_of_a_step_are_those_with_most_of_its_weight(self) -> None:
        step = Step(np.ones((1, 1)), np.array([0.1, 0.6, 0.3]))
        assert step.top(("a", "dog", "runs")) == ["dog", "runs"]

    def test_a_variant_that_does_not_attend_is_refused(self, features: ImageFeatures) -> None:
        with pytest.raises(SeesayError, match="is the variant mean"):
            explain(build_smlstm(variant="mean"), features, "a dog", "attention")

    def test_the_grid_of_the_configuration_is_that_of_the_maps(self, features: ImageFeatures) -> None:
        found = explain(build_smlstm(grid=4), features, "a dog", "attention")
        assert found.map.shape == (4, 4)


def test_an_embedding_is_explained_by_the_maps_of_its_words(embedding: TorchModel, features: ImageFeatures) -> None:
    found = explain(embedding, features, "a dog", "alignment")
    assert found.word_maps is not None
    np.testing.assert_allclose(found.word_maps, heat_maps(embedding, features, term_vectors(embedding, ["a", "dog"])))
    rises = found.word_maps.max(axis=(1, 2)) - np.median(found.word_maps, axis=(1, 2))
    np.testing.assert_allclose(found.weights, rises / rises.sum())
    assert found.map.shape == (2, 3)
    assert found.probability is None
    candidates = windows(200)
    np.testing.assert_allclose(found.boxes, candidates[box_overlaps(found.word_maps, candidates).argmax(axis=1)])


def test_it_becomes_plain_numbers(identifier: TorchModel, features: ImageFeatures) -> None:
    table = json.loads(json.dumps(explain(identifier, features, "dog", "excitation").to_dict()))
    assert list(table) == ["method", "score", "probability", "words", "map"]
    assert table["words"][0]["word"] == "dog"
    assert np.shape(table["map"]) == (2, 3)


def test_a_very_long_sentence_is_explained_as_far_as_it_is_read(
    identifier: TorchModel, features: ImageFeatures
) -> None:
    assert len(explain(identifier, features, "dog " * 300).words) == LONGEST


def test_the_first_explainer_that_a_model_lists_is_its_default(
    identifier: TorchModel, embedding: TorchModel, features: ImageFeatures
) -> None:
    models = (identifier, embedding, build_smlstm())
    assert [explain(model, features, "dog").method for model in models] == ["contrastive", "alignment", "attention"]


@pytest.mark.parametrize("method", ["contrastive", "excitation"])
def test_a_sentence_without_words_is_refused(identifier: TorchModel, features: ImageFeatures, method: str) -> None:
    with pytest.raises(SeesayError, match="has no words"):
        explain(identifier, features, " . ", method)


@pytest.mark.parametrize("method", ["contrastive", "excitation"])
def test_a_word_of_several_tokens_weighs_what_they_weigh_together(
    identifier: TorchModel, features: ImageFeatures, method: str
) -> None:
    found = find_explainer(method).explain(identifier, features, "A dog-runs snow!")
    apart = explain(identifier, features, "a dog runs snow", method)
    assert found.words == ("A", "dog-runs", "snow!")
    a, dog, runs, snow = apart.weights
    np.testing.assert_allclose(found.weights, [a, dog + runs, snow])
    np.testing.assert_allclose(found.map, apart.map)
