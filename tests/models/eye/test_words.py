"""An eye with a sentence encoder over whole words: what it starts as, what of it learns, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models.eye.words import EyeWords, EyeWordsConfig
from seesay.models.pretrained import load, save
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

SPEC = FeatureSpec("efficientnet-lite0", size=64)
SENTENCES = ["a dog runs", "a red bus", "two dogs play in the snow"]
SMALL = {"dim": 8, "word_dim": 6}


@pytest.fixture
def start(tmp_path: Path) -> VSE:
    """A joint embedding on the frozen network, saved."""
    torch.manual_seed(1)
    model = VSE(VSEConfig(**SMALL), Vocabulary.build(SENTENCES, 1), SPEC).eval()
    data = [{"name": "toy", "split": "train", "n_images": 3, "n_sentences": 3}]
    save(tmp_path / "start", model, {"name": "start", "data": data})
    return model


def build(**config: Any) -> EyeWords:
    torch.manual_seed(2)
    model = EyeWords(EyeWordsConfig(**SMALL, **config), Vocabulary.build([*SENTENCES, "a zebra"], 1), SPEC)
    model.initialise(0)
    return model.eval()


def photos() -> list[Image.Image]:
    return [Image.effect_noise((80, 64), 50 + 20 * step).convert("RGB") for step in range(3)]


def test_at_first_it_is_the_embedding_that_it_starts_from(start: VSE, tmp_path: Path) -> None:
    model = build(start_from=str(tmp_path / "start"))
    shown = photos()
    with torch.inference_mode():
        seen, wanted = (each.encode_images(each.features(shown)) for each in (model, start))
    torch.testing.assert_close(seen, wanted, atol=5e-3, rtol=0)
    torch.testing.assert_close(model.encode_texts(SENTENCES), start.encode_texts(SENTENCES), atol=2e-3, rtol=0)
    assert EyeWords.earlier_data(model.config)[0]["name"] == "toy"


def test_a_start_on_another_network_is_refused(start: VSE, tmp_path: Path) -> None:
    config = EyeWordsConfig(**SMALL, start_from=str(tmp_path / "start"))
    model = EyeWords(config, start.vocabulary, FeatureSpec("efficientnet-lite0", size=96))
    with pytest.raises(SeesayError, match="uses the network efficientnet-lite0-64"):
        model.initialise(0)


@pytest.mark.parametrize("learns", [True, False])
def test_the_upper_half_learns_where_it_may_and_depthwise_kernels_never(learns: bool) -> None:
    model = build(learns_eye=learns)
    open_ones = {name for name, weight in model.upper.named_parameters() if weight.requires_grad}
    assert bool(open_ones) == learns
    for name, module in model.upper.named_modules():
        if isinstance(module, torch.nn.Conv2d) and module.groups > 1:
            assert f"{name}.weight" not in open_ones


def test_half_precision_is_for_training_alone() -> None:
    whole, half = build(), build(eye_in_half=True)
    lower = torch.rand(2, 4, 4, 112).half()
    assert half.feature_map(lower).equal(whole.feature_map(lower))
    trained = half.train().feature_map(lower)
    assert trained.dtype == torch.float32
    assert not trained.equal(whole.feature_map(lower))
    torch.testing.assert_close(trained, whole.feature_map(lower), atol=0.3, rtol=0)


def test_it_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    model = build()
    with torch.no_grad():
        next(model.upper.parameters()).mul_(1.5)
    save(tmp_path / "saved", model, {"name": "saved"})
    loaded = load(tmp_path / "saved")
    lower = Features.of_lower(torch.rand(2, 4, 4, 112).half())
    torch.testing.assert_close(loaded.encode_images(lower), model.encode_images(lower), atol=5e-3, rtol=0)


def test_features_without_activations_are_refused() -> None:
    with pytest.raises(ValueError, match="'lower'"):
        build().encode_images(Features(torch.zeros(1, 1280)))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"image_pooling": "attention"}, "config.image_pooling"),
        ({"n_captions": 0}, "config.n_captions"),
        ({"smallest_view": 0.2}, "config.smallest_view"),
    ],
)
def test_impossible_configurations_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(SeesayError, match=named):
        EyeWordsConfig(**changes)
