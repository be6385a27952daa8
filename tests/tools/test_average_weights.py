"""Two weights folders of one shape, averaged: what is between them, without what was chosen for either."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from seesay.catalogue.weights import read_about, weights_digest
from seesay.images.features import FeatureSpec
from seesay.models.pretrained import load, save
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary
from tools.average_weights import average

VOCABULARY = Vocabulary.build(["a dog runs in the snow"], min_count=1)
SPEC = FeatureSpec("efficientnet-lite0", 64)


def folder(place: Path, seed: int, dim: int = 8) -> Path:
    torch.manual_seed(seed)
    model = VSE(VSEConfig(dim=dim, word_dim=4, image_dim=1280, word_vectors=""), VOCABULARY, SPEC)
    save(place, model, {"name": place.name, "seed": seed})
    return place


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_tensors_lie_between_those_of_the_two(tmp_path: Path, share: float) -> None:
    first, second = (folder(tmp_path / name, seed) for seed, name in enumerate(("first", "second")))
    average(str(first), str(second), tmp_path / "out", share)
    of_first, of_second, mixed = (load(place).state_dict() for place in (first, second, tmp_path / "out"))
    for name, tensor in mixed.items():
        wanted = (1 - share) * of_first[name] + share * of_second[name]
        torch.testing.assert_close(tensor, wanted, atol=1e-3, rtol=1e-3)  # saved in half precision


def test_what_was_chosen_or_measured_is_left_out_and_where_they_come_from_is_kept(tmp_path: Path) -> None:
    first, second = (folder(tmp_path / name, seed) for seed, name in enumerate(("first", "second")))
    config = second / "config.json"
    about = json.loads(config.read_text())
    config.write_text(json.dumps({**about, "captioning": {"beam": 5}, "tuned": {}, "figures": {"flickr8k/dev": {}}}))
    average(str(first), str(second), tmp_path / "out")
    found = read_about(tmp_path / "out").about
    assert not {"captioning", "tuned", "figures"} & set(found)
    assert found["seed"] == 1
    digests = {str(place): weights_digest(place) for place in (first, second)}
    assert found["averaged"] == {**digests, "share": 0.5}
    kept, made = (load_file(place / "model.safetensors") for place in (second, tmp_path / "out"))
    assert {name: tensor.dtype for name, tensor in made.items()} == {
        name: tensor.dtype for name, tensor in kept.items()
    }


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    first, second = folder(tmp_path / "first", 0), folder(tmp_path / "second", 1, dim=6)
    with pytest.raises(SystemExit, match="differ in shape"):
        average(str(first), str(second), tmp_path / "out")
    assert not (tmp_path / "out").exists()
