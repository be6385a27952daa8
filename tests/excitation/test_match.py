"""Why a match: probability from the score to words and cells, nothing lost, and what is decisive gets it."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from seesay.engines import TorchModel
from seesay.excitation import match
from seesay.excitation.match import match_saliency
from seesay.excitation.rules import propagate, run
from seesay.explainers.explaining import explain
from seesay.images.features import Features, FeatureSpec
from seesay.images.networks import classic
from seesay.models.identifier import Identifier, IdentifierConfig
from seesay.text.vocabulary import Vocabulary

SENTENCES = ["a dog runs", "dog", "two dogs in snow"]
VOCABULARY = Vocabulary.build(SENTENCES, min_count=1)


def make(*, excited: bool = True, **config: Any) -> Identifier:
    """Random weights; where `excited`, none inhibits but half of the output's."""
    torch.manual_seed(0)
    small = {"dim": 6, "hidden": 8, "word_dim": 4, "image_dim": 5, "word_vectors": ""}
    model = Identifier(IdentifierConfig(**(small | config)), VOCABULARY, FeatureSpec())
    model.initialise(0)
    for weight in model.parameters():
        weight.data.normal_(0, 0.5)
        if excited:
            weight.data.abs_()
    model.output.weight.data[:, ::2] *= -1
    return model.eval()


def pictures(n: int = 1) -> Features:
    cells = torch.rand(n, 2, 3, 5, generator=torch.Generator().manual_seed(1))
    return Features(cells.mean((1, 2)), cells)


@pytest.mark.parametrize("fully_connected", [0, 7])
def test_picture_and_words_together_hold_one(fully_connected: int) -> None:
    found = match_saliency(make(fully_connected=fully_connected), pictures(), SENTENCES)
    torch.testing.assert_close(found.maps.sum((1, 2)) + found.words.sum(1), torch.ones(3))
    torch.testing.assert_close(found.activations.sum(3), found.maps)


def test_a_sentence_is_explained_the_same_beside_longer_ones() -> None:
    model = make(excited=False)
    together, alone = match_saliency(model, pictures(), SENTENCES), match_saliency(model, pictures(), SENTENCES[1:2])
    torch.testing.assert_close(together.maps[1:2], alone.maps)
    torch.testing.assert_close(together.words[1, :1], alone.words[0])
    assert not together.words[1, 1:].any()


def test_one_picture_serves_all_sentences_and_several_pictures_one_each() -> None:
    model = make()
    first = pictures(3)
    each = match_saliency(model, first, SENTENCES)
    for row, sentence in enumerate(SENTENCES):
        own = Features(first.pooled[row : row + 1], first.map[row : row + 1] if first.map is not None else None)
        torch.testing.assert_close(each.maps[row], match_saliency(model, own, [sentence]).maps[0])


def test_the_logit_is_the_model_s_own() -> None:
    model = make(excited=False)
    found = match_saliency(model, pictures(), SENTENCES)
    images, texts = model.encode_images(pictures()), model.encode_texts(SENTENCES)
    torch.testing.assert_close(found.logits, model.score(images, texts)[0])


def test_an_empty_cell_gets_nothing() -> None:
    features = pictures()
    assert features.map is not None
    features.map[0, 1, 2] = 0
    found = match_saliency(make(), Features(features.map.mean((1, 2)), features.map), SENTENCES[:1])
    assert found.maps[0, 1, 2] == 0
    assert (found.maps[0].flatten()[:5] > 0).all()


def shares(flow: torch.Tensor) -> torch.Tensor:
    return flow / flow.sum(1, keepdim=True)


def test_the_contrastive_way_keeps_what_exceeds_the_score_s_dual() -> None:
    model = make()
    plain = match_saliency(model, pictures(), SENTENCES)
    contrastive = match_saliency(model, pictures(), SENTENCES, contrastive=True)
    model.output.weight.data *= -1
    dual = match_saliency(model, pictures(), SENTENCES)
    excess = (shares(plain.words) - shares(dual.words)).clamp(min=0) * plain.words.sum(1, keepdim=True)
    torch.testing.assert_close(contrastive.words, excess)
    # With one word only, all of both flows reach it, and nothing exceeds.
    assert not contrastive.words[1].any()


@pytest.mark.parametrize("fully_connected", [0, 7])
def test_of_a_picture_is_kept_what_excites_the_units_of_its_layer_more_than_their_duals(fully_connected: int) -> None:
    model = make(fully_connected=fully_connected)
    model.output.weight.data.abs_()  # nothing speaks against a match
    model.image_layers[1].weight.data[:, 1::2] *= -1  # channels 1 and 3 excite the duals
    plain = match_saliency(model, pictures(), SENTENCES)
    contrastive = match_saliency(model, pictures(), SENTENCES, contrastive=True)
    assert not contrastive.activations[..., 1::2].any()
    torch.testing.assert_close(contrastive.activations[..., ::2], plain.activations[..., ::2])


def test_a_picture_that_speaks_for_and_against_alike_keeps_nothing() -> None:
    model = make()
    model.output.weight.data.fill_(0.5)
    model.output.weight.data[:, 4:] = -0.5
    for block in (model.lstm.inputs.weight.data, model.lstm.inputs.bias.data, model.lstm.recurrent.weight.data):
        for part in block.chunk(4):
            part[4:] = part[:4]  # the units that speak against are copies of those that speak for
    model.lstm.recurrent.weight.data.zero_()
    found = match_saliency(model, pictures(), SENTENCES, contrastive=True)
    torch.testing.assert_close(found.maps, torch.zeros_like(found.maps), atol=1e-6, rtol=0)
    torch.testing.assert_close(found.words, torch.zeros_like(found.words), atol=1e-6, rtol=0)


def test_another_head_than_the_mean_leads_to_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(image_dim=4)
    torch.manual_seed(0)
    head = [nn.MaxPool2d((2, 3)), nn.Flatten(), nn.Linear(5, 4), nn.ReLU()]
    assert isinstance(head[2], nn.Linear)
    head[2].weight.data.abs_()
    features = pictures()
    assert features.map is not None
    monkeypatch.setattr(Identifier, "backbone", None)
    monkeypatch.setattr(match, "head_layers", lambda backbone: head)
    found = match_saliency(model, Features(torch.zeros(1, 4), features.map), SENTENCES[:1])
    torch.testing.assert_close(found.maps.sum() + found.words.sum(), torch.tensor(1.0))
    winners = propagate(head[:1], run(head[:1], features.map.permute(0, 3, 1, 2)), torch.ones(1, 5, 1, 1))[0]
    assert not found.maps[0][winners[0].sum(0) == 0].any()  # a cell that wins no channel has excited nothing


@pytest.fixture(scope="module")
def alexnet(tmp_path_factory: pytest.TempPathFactory) -> FeatureSpec:
    """AlexNet with random weights, fully connected layers and all."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("network") / "alexnet.safetensors"
    save_file(classic.build("alexnet").state_dict(), path)
    return FeatureSpec("alexnet", weights=str(path))


@pytest.mark.parametrize("method", ["excitation", "contrastive"])
def test_an_identifier_on_fully_connected_layers_is_explained(alexnet: FeatureSpec, method: str) -> None:
    torch.manual_seed(0)
    config = IdentifierConfig(dim=6, hidden=8, word_dim=4, image_dim=4096, word_vectors="")
    model = Identifier(config, VOCABULARY, alexnet).eval()
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))
    features = model.features([photo])
    found = explain(TorchModel(model), features.to_arrays(), "two dogs in snow", method)
    assert found.map.shape == (13, 13)
    assert found.map.max() > found.map.min() >= 0
    assert 0 < found.map.sum() + found.weights.sum() <= 1.0001  # biases of ReLU layers keep what they alone excite
    texts = model.encode_texts(["two dogs in snow"])
    assert found.score == pytest.approx(model.score(model.encode_images(features), texts).item(), abs=1e-5)


def test_features_without_a_map_are_refused() -> None:
    with pytest.raises(ValueError, match="needs the features' map"):
        match_saliency(make(), Features(torch.rand(1, 5)), SENTENCES)
