"""Both engines give the same answers, and what is not there is refused by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seesay
from seesay.captioning.captions import caption_images
from seesay.captioning.settings import Sampling, Settings
from seesay.engines import ENGINES, TorchModel, answering, open_model
from seesay.errors import SeesayError
from seesay.images.arrays import ImageFeatures
from seesay.models.pretrained import load, load_captioner
from seesay.runtime.matching import Model

SAMPLES = Path(seesay.__file__).parent / "samples"


@pytest.fixture(scope="module")
def photos() -> ImageFeatures:
    """The samples as the captioner's network sees them in torch."""
    return load("mrnn").features(sorted(SAMPLES.glob("*.jpg"))).to_arrays()


@pytest.mark.parametrize(
    ("changes", "sampling", "n_best"),
    [
        ({"beam": 1}, None, 1),
        ({"beam": 10}, None, 3),
        ({"beam": 4, "min_length": 9, "no_repeat": 2, "length_power": 0.7}, None, 2),
        ({}, Sampling(temperature=0.8, top_k=20, seed=3), 2),
    ],
)
def test_both_engines_write_the_same_captions(
    changes: dict[str, Any], sampling: Sampling | None, n_best: int, photos: ImageFeatures
) -> None:
    torch_side, graph_side = TorchModel(load_captioner("mrnn")), Model("mrnn")
    for start in ("", "a man"):
        wanted, found = (
            caption_images(
                model, photos, n_best=n_best, start=start, settings=Settings.of(model, **changes), sampling=sampling
            )
            for model in (torch_side, graph_side)
        )
        assert [[each.text for each in own] for own in found] == [[each.text for each in own] for own in wanted]
        for own, theirs in zip(found, wanted, strict=True):
            assert [each.log_prob for each in own] == pytest.approx([each.log_prob for each in theirs], abs=1e-3)
        assert all(each.text.startswith(start) for own in found for each in own)


def test_a_model_in_torch_answers_without_dropout_and_stays_as_it_was() -> None:
    model = load("vse")
    model.train()
    answers = answering(model)
    first, again = answers.encode_texts(["a dog"]), answers.encode_texts(["a dog"])
    assert np.array_equal(first, again)
    assert model.training
    model.eval()
    assert np.allclose(first, model.encode_texts(["a dog"]).numpy(), atol=1e-6)
    assert answering(answers) is answers


@pytest.mark.parametrize("name", ["mrnn", "dvsa", "vse", "smlstm", "identifier"])
def test_both_engines_say_the_same_of_themselves(name: str) -> None:
    torch_side, graph_side = (open_model(name, engine) for engine in reversed(ENGINES))
    for attribute in ("name", "family", "outputs", "explainers", "is_embedding"):
        assert getattr(graph_side, attribute) == getattr(torch_side, attribute)
    assert graph_side.vocabulary.fingerprint() == torch_side.vocabulary.fingerprint()
    for verb in ("step", "regions", "phrases", "look", "saliency"):
        assert graph_side.can(verb) == torch_side.can(verb), verb


def test_an_engine_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(SeesayError, match="there is no engine 'jax'\n  allowed: runtime, torch"):
        open_model("vse", "jax")


def test_a_verb_that_a_model_does_not_have_is_named() -> None:
    with pytest.raises(SeesayError, match="vse has no step"), torch.inference_mode():
        answering(load("vse")).step((np.zeros((1, 1), np.float32),), np.array([1]))
