"""An image network of somebody else's, in this file alone: a model learns on it, is tuned, evaluated, explained and
searched with as on our own, and refuses other weights of it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.export.exporting import export_weights
from seesay.images.backbones import Backbone, Network, file_digest, load_backbone, network_names, register_network
from seesay.images.features import FeatureSpec
from seesay.library.library import Library
from seesay.models.pretrained import find, load
from seesay.training.recipe import Recipe
from seesay.training.run import run_recipe

CHANNELS = 12


class Mean(nn.Module):
    def forward(self, feature_map: Tensor) -> Tensor:
        return feature_map.mean((2, 3))


@register_network("toy-network")
class ToyNetwork(Network):
    """One convolution, whose weights its package would bring."""

    size = 32
    weights: ClassVar[Path]

    @property
    def package(self) -> str:
        return "toy-network==1.0"

    def find_weights(self) -> Path:
        return self.weights

    def build(self, weights: Path, size: int) -> Backbone:
        convolution = nn.Conv2d(3, CHANNELS, 8, stride=8)
        convolution.load_state_dict(load_file(weights))
        network = nn.Sequential(convolution, nn.ReLU()).eval().requires_grad_(False)
        return Backbone(self.name, size, file_digest(weights), network, Mean(), (127.0,) * 3, (128.0,) * 3)


def write_weights(path: Path, seed: int) -> Path:
    generator = torch.Generator().manual_seed(seed)
    save_file(
        {"weight": 0.1 * torch.randn(CHANNELS, 3, 8, 8, generator=generator), "bias": torch.zeros(CHANNELS)}, path
    )
    return path


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyNetwork, "weights", write_weights(tmp_path / "toy.safetensors", 0), raising=False)
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))


def test_it_is_a_network_like_any_other(tmp_path: Path) -> None:
    assert "toy-network" in network_names()
    assert FeatureSpec("toy-network").size == 32
    backbone = load_backbone("toy-network")
    feature_map, vector = backbone(torch.zeros(2, 32, 32, 3, dtype=torch.uint8))
    assert (feature_map.shape, vector.shape) == ((2, 4, 4, CHANNELS), (2, CHANNELS))
    assert backbone.digest == file_digest(tmp_path / "toy.safetensors")


@pytest.fixture
def folder(colours_recipe: dict[str, Any], tmp_path: Path) -> Path:
    """The weights of a model that was trained on it."""
    config = colours_recipe["config"] | {"image_dim": CHANNELS}
    recipe = colours_recipe | {"features": {"backbone": "toy-network"}, "config": config}
    return run_recipe(Recipe.from_dict(recipe), tmp_path / "run").folder


def test_a_model_is_trained_on_it_and_refuses_other_weights_of_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find(folder).about["features"]["digest"] == file_digest(tmp_path / "toy.safetensors")
    assert find(folder).figures["colours/dev"]["sum"] > 450
    reds, blues = (Image.new("RGB", (32, 32), colour) for colour in ("red", "blue"))
    assert load(folder).match([reds, blues], ["a red picture", "a blue picture"]).argmax(1).tolist() == [0, 1]
    other = write_weights(tmp_path / "other.safetensors", 1)
    monkeypatch.setattr(ToyNetwork, "weights", other)
    with pytest.raises(SeesayError) as caught:
        load(folder)
    digests = [file_digest(path)[:12] for path in (tmp_path / "toy.safetensors", other)]
    assert f"the weights of toy-network were {digests[0]}, installed is {digests[1]}" in str(caught.value)
    assert caught.value.hint == "pip install toy-network==1.0"


def test_the_model_is_tuned_evaluated_explained_indexed_and_searched_with(
    folder: Path, colours: Path, tmp_path: Path, answer: Callable[..., Any]
) -> None:
    export_weights(folder, precision="fp32")
    chosen = ("--only", "calibration", "--data", colours, "--entities", colours)
    (step,) = answer("tune", folder, *chosen, "--json")["steps"]
    assert step["changed"]
    assert answer("evaluate", folder, "--data", colours, "--split", "test", "--json")["sum"] > 450
    photo = colours / "images" / "red_5.png"
    report = answer("explain", photo, "a red picture", "-m", folder, "--json")
    assert (report["method"], np.shape(report["map"])) == ("alignment", (4, 4))
    with Library(tmp_path / "library", model=folder, stages=()) as library:
        assert library.index(photo.parent).n_added > 4
        for colour in ("red", "blue"):
            assert library.search(f"a {colour} picture", top=1)[0].path.name.startswith(colour)
