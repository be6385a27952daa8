"""The eye and the ear as a model: what it refuses, what shrinking keeps, and that it is loaded as it was saved."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models.eye_ear import EyeEar, EyeEarConfig
from seesay.models.pretrained import load, save
from seesay.models.vse import VSE, VSEConfig
from seesay.system.tables import read_table
from seesay.text.subwords import Subwords
from seesay.text.vocabulary import Vocabulary
from seesay.training.eye.shrinking import shrink

SPEC = FeatureSpec("efficientnet-lite0", size=64)
SENTENCES = ["a dog", "everything here is red", "a bag.", "dogs"]


@pytest.fixture
def model(eye_recipe: dict[str, Any]) -> EyeEar:
    torch.manual_seed(0)
    config = read_table(EyeEarConfig, eye_recipe["config"] | {"keep_subwords": 30}, "here")
    made = EyeEar(config, EyeEar.tokenizer_for(config), SPEC)
    made.initialise(0)
    return made.eval()


def test_vectors_have_unit_length(model: EyeEar) -> None:
    images = model.encode_images(Features.of_lower(torch.rand(3, 4, 4, 112).half()))
    texts = model.encode_texts(SENTENCES)
    torch.testing.assert_close(images.norm(dim=1), torch.ones(3))
    torch.testing.assert_close(texts.norm(dim=1), torch.ones(4))


def test_sentences_keep_their_places_whatever_their_lengths(model: EyeEar) -> None:
    together = model.encode_texts(SENTENCES * 40)
    alone = torch.cat([model.encode_texts([sentence]) for sentence in SENTENCES])
    torch.testing.assert_close(together[-4:], alone, rtol=1e-4, atol=1e-5)


def test_nothing_and_an_empty_sentence_have_vectors(model: EyeEar) -> None:
    assert model.encode_texts([]).shape == (0, 16)
    assert torch.isfinite(model.encode_texts([""])).all()


def test_a_picture_has_the_same_vector_as_its_stored_activations(model: EyeEar, tmp_path: Path) -> None:
    from seesay.images.activations import activations_of

    path = tmp_path / "red.png"
    Image.new("RGB", (50, 40), "red").save(path)
    stored = activations_of([path], SPEC, root=tmp_path).rows([0])
    torch.testing.assert_close(model.encode_images(model.features([path])), model.encode_images(stored))


def test_the_untouched_eye_is_the_published_network(model: EyeEar) -> None:
    backbone = SPEC.load_backbone()
    pixels = torch.randint(0, 255, (2, 64, 64, 3), dtype=torch.uint8)
    wanted, _ = backbone(pixels)
    lower = torch.from_numpy(model._lower(pixels.numpy()))
    found = model.feature_map(lower).permute(0, 2, 3, 1)
    torch.testing.assert_close(found, wanted, rtol=0.02, atol=0.02)


def test_features_without_activations_are_refused(model: EyeEar) -> None:
    with pytest.raises(ValueError, match="'lower'"):
        model.encode_images(Features(torch.zeros(1, 1280)))


def test_a_smaller_ear_says_nearly_the_same(model: EyeEar, tmp_path: Path) -> None:
    smaller = shrink(model, SENTENCES)
    assert smaller.config.n_subwords < model.config.n_subwords
    assert "dog" in smaller.subwords.tokens
    agreement = (smaller.encode_texts(SENTENCES) * model.encode_texts(SENTENCES)).sum(1)
    assert (agreement > 0.999).all()


def test_it_is_loaded_as_it_was_saved(model: EyeEar, tmp_path: Path) -> None:
    smaller = shrink(model, SENTENCES)
    save(tmp_path, smaller, {"name": "small"})
    loaded = load(tmp_path)
    torch.testing.assert_close(loaded.encode_texts(SENTENCES), smaller.encode_texts(SENTENCES), rtol=0.01, atol=0.005)
    assert loaded.temperature == pytest.approx(0.05, rel=0.01)
    assert "all-MiniLM-L6-v2" in (tmp_path / "card.md").read_text()


def test_a_tokenizer_that_is_gone_is_named(model: EyeEar, tmp_path: Path) -> None:
    save(tmp_path, model, {"name": "small"})
    (tmp_path / Subwords.file_name).unlink()
    with pytest.raises(SeesayError, match=r"cannot read .*tokenizer\.json"):
        load(tmp_path)


def test_weights_of_the_same_family_are_gone_on_from(model: EyeEar, eye_recipe: dict[str, Any], tmp_path: Path) -> None:
    with torch.no_grad():
        model.project.bias.fill_(0.5)
    save(tmp_path, model, {"name": "first"})
    config = read_table(EyeEarConfig, eye_recipe["config"] | {"start_from": str(tmp_path)}, "here")
    second = EyeEar(config, EyeEar.tokenizer_for(config), SPEC)
    second.initialise(0)
    assert second.project.bias.tolist() == [0.5] * 16


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"heads": 5}, "config.heads"), ({"temperature": 0.0}, "config.temperature"), ({"dim": 0}, "config.dim")],
)
def test_impossible_configurations_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(SeesayError, match=named):
        EyeEarConfig(**changes)


def test_a_tokenizer_of_another_size_is_refused(wordpiece: str) -> None:
    with pytest.raises(SeesayError, match=r"config\.n_subwords is 30522"):
        EyeEar(EyeEarConfig(), Subwords(wordpiece), SPEC)


def test_a_network_without_classes_is_refused() -> None:
    with pytest.raises(SeesayError):
        EyeEar(EyeEarConfig(), Vocabulary.build(["a"], 1), FeatureSpec("vgg16"))


@pytest.fixture
def pair(model: EyeEar, eye_recipe: dict[str, Any], tmp_path: Path) -> tuple[EyeEar, EyeEar, VSE]:
    """An eye alone, the same with an embedding beside it, and that embedding."""
    torch.manual_seed(1)
    words = VSE(VSEConfig(dim=8, word_dim=6), Vocabulary.build(SENTENCES, 1), SPEC).eval()
    save(tmp_path / "words", words, {"name": "words"})
    beside = {"beside": str(tmp_path / "words"), "beside_dim": 8, "beside_weight": 0.3}
    config = read_table(EyeEarConfig, eye_recipe["config"] | beside, "here")
    both = EyeEar(config, model.subwords, SPEC).eval()
    own = {name: tensor for name, tensor in both.state_dict().items() if name.startswith("beside.")}
    both.load_state_dict({**model.state_dict(), **own})
    assert isinstance(both.beside, VSE)
    return model, both, both.beside


def test_cosine_of_both_is_the_weighted_mean_of_theirs(pair: tuple[EyeEar, EyeEar, VSE]) -> None:
    model, both, words = pair
    photos = [Image.effect_noise((80, 64), 50 + 20 * step).convert("RGB") for step in range(3)]
    features = both.features(photos)
    assert both.outputs == ("pooled", "lower")
    with torch.inference_mode():
        together = both.score(both.encode_images(features), both.encode_texts(SENTENCES))
        alone = model.score(model.encode_images(features), model.encode_texts(SENTENCES))
        beside = words.score(words.encode_images(features), words.encode_texts(SENTENCES))
    torch.testing.assert_close(together, 0.7 * alone + 0.3 * beside, rtol=0, atol=1e-5)


def test_sentences_as_numbers_give_the_same_vectors(pair: tuple[EyeEar, EyeEar, VSE]) -> None:
    for model in pair[:2]:
        with torch.inference_mode():
            found = model.encode_inputs(*model.text_inputs(SENTENCES).values())
            torch.testing.assert_close(found, model.encode_texts(SENTENCES), rtol=0, atol=1e-5)


def test_both_are_loaded_as_they_were_saved(pair: tuple[EyeEar, EyeEar, VSE], tmp_path: Path) -> None:
    _, both, _ = pair
    weights = save(tmp_path / "both", both, {"name": "both"})
    assert weights.about["search"] == {"stage": "first", "dim": 24}
    loaded = load(tmp_path / "both")
    torch.testing.assert_close(loaded.encode_texts(SENTENCES), both.encode_texts(SENTENCES), rtol=0.01, atol=0.005)


def test_an_embedding_of_another_network_does_not_stand_beside(
    pair: tuple[EyeEar, EyeEar, VSE], tmp_path: Path
) -> None:
    _, both, _ = pair
    with pytest.raises(SeesayError, match="uses the network efficientnet-lite0-64"):
        EyeEar(both.config, both.subwords, FeatureSpec("efficientnet-lite0", size=96))
    with pytest.raises(SeesayError, match="beside_dim 9"):
        EyeEar(replace(both.config, beside_dim=9), both.subwords, SPEC)
