"""What only the numbers of a folder show: weights that are damaged are never added."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from seesay.errors import SeesayError
from seesay.verbs.adding import add_model

pytest.importorskip("transformers")
FC1 = "encoder.layers.1.mlp.fc1.weight"


def damage(folder: Path, name: str, number: float) -> None:
    """Put one number into a tensor."""
    tensors = load_file(folder / "model.safetensors")
    damaged = np.array(tensors[name])
    damaged.reshape(-1)[-1] = number
    save_file({**tensors, name: damaged}, folder / "model.safetensors")


def refused(folder: Path, models_folder: Path, words: str, **options: Any) -> None:
    with pytest.raises(SeesayError) as caught:
        add_model(folder, "mine", **options)
    assert words in str(caught.value)
    assert "\n" not in caught.value.what
    assert list(models_folder.iterdir()) == []


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("name", [f"text_model.{FC1}", f"vision_model.{FC1}", "text_model.final_layer_norm.bias"])
def test_a_number_that_is_not_finite(folder: Path, models_folder: Path, name: str, number: float) -> None:
    damage(folder, name, number)
    refused(folder, models_folder, f"{name} has numbers that are not finite")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_scale_that_is_not_finite(folder: Path, models_folder: Path, number: float) -> None:
    damage(folder, "logit_scale", number)
    refused(folder, models_folder, f"logit_scale is {number}")


def test_an_eye_that_is_damaged(published: Callable[[str], Path], folder: Path, models_folder: Path) -> None:
    for path in published("dinov2").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    damage(folder, "encoder.layer.0.mlp.fc1.weight", np.nan)
    refused(folder, models_folder, "encoder.layer.0.mlp.fc1.weight has numbers that are not finite")


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_numbers_that_grow_beyond_all_bounds(folder: Path, models_folder: Path, precision: str) -> None:
    """Each is finite; what a tower makes of them is not, and a graph that agrees with torch about that is no use."""
    tensors = load_file(folder / "model.safetensors")
    grown = {name: tensor * 1e30 if name == f"vision_model.{FC1}" else tensor for name, tensor in tensors.items()}
    save_file(grown, folder / "model.safetensors")
    refused(folder, models_folder, "not finite", precision=precision)


def test_weights_of_nothing_but_zeros(folder: Path, models_folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({name: np.zeros_like(tensor) for name, tensor in tensors.items()}, folder / "model.safetensors")
    refused(folder, models_folder, "the tower makes no vector of an image")


def test_a_tower_s_own_tokenizer_is_not_doubted(published: Callable[[str], Path], models_folder: Path) -> None:
    told: list[str] = []
    add_model(published("siglip"), "own", tell=told.append)
    assert not [line for line in told if "is it its own?" in line]


def test_it_is_said_where_a_tokenizer_has_far_fewer_tokens(
    published: Callable[[str], Path], folder: Path, models_folder: Path
) -> None:
    for path in published("siglip").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    name = "text_model.embeddings.token_embedding.weight"
    tensors = load_file(folder / "model.safetensors")
    n = len(tensors[name])
    save_file({**tensors, name: np.concatenate([tensors[name]] * 2)}, folder / "model.safetensors")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace(f'"vocab_size": {n}', f'"vocab_size": {2 * n}'))
    told: list[str] = []
    add_model(folder, "mine", tell=told.append)
    assert told[0] == f"tokenizer.json has {n:,} tokens, the tower knows {2 * n:,}: is it its own?"


@pytest.mark.parametrize("kind", ["file", "read-only"])
def test_a_folder_of_models_that_cannot_be_written(folder: Path, models_folder: Path, kind: str) -> None:
    import os

    if kind == "file":
        models_folder.write_text("a file")
    elif os.geteuid() == 0:
        pytest.skip("nothing is read-only for root")
    else:
        models_folder.mkdir(mode=0o500)
    with pytest.raises(SeesayError, match=r"cannot write .*mine") as caught:
        add_model(folder, "mine")
    assert "SEESAY_MODELS" in str(caught.value.hint)
