"""What is wrong with a folder is said in one sentence, before a tensor is read."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from seesay.errors import SeesayError
from seesay.verbs.adding import add_model, remove_model

pytest.importorskip("transformers")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 605247071\n"


@pytest.fixture(autouse=True)
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors must not be read: a folder is judged by its headers."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a tensor was read")

    for module in ("seesay.export.adding", "seesay.images.tower"):
        monkeypatch.setattr(f"{module}.fill", refuse)


def change(path: Path, **values: Any) -> None:
    table = json.loads(path.read_text())
    for key, value in values.items():
        here = table
        *above, last = key.split("__")
        for each in above:
            here = here[each]
        here[last] = value
    path.write_text(json.dumps(table))


def refused(folder: Path, *words: str) -> SeesayError:
    with pytest.raises(SeesayError) as caught:
        add_model(folder, "mine")
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in caught.value.what
    return caught.value


def test_a_folder_that_is_not_there(tmp_path: Path, models_folder: Path) -> None:
    refused(tmp_path / "nothing", "nothing does not exist")


def test_a_missing_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    refused(folder, "has no tokenizer.json", "save_pretrained")


def test_a_tokenizer_that_is_none(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    refused(folder, "is not a tokenizer")


def test_a_tokenizer_of_another_tower(folder: Path, published: Callable[[str], Path]) -> None:
    shutil.copy(published("siglip2") / "tokenizer.json", folder / "tokenizer.json")
    refused(folder, "does not end a sentence with the token")


def test_a_tokenizer_with_more_tokens_than_the_tower_reads(folder: Path) -> None:
    change(folder / "config.json", text_config__vocab_size=100)
    refused(folder, "tokens, the tower reads 100")


@pytest.mark.parametrize("family", ["blip", "bert", "dinov3_vit", 7, ["clip"], "x" * 10_000])
def test_an_unknown_architecture(folder: Path, family: Any) -> None:
    change(folder / "config.json", model_type=family)
    error = refused(folder, "there is no tower of the architecture", "clip, siglip")
    assert len(error.what) < 400


def test_no_architecture(folder: Path) -> None:
    change(folder / "config.json", model_type=None)
    refused(folder, "has no model_type", "clip, siglip")


def test_the_layout_of_open_clip(folder: Path) -> None:
    (folder / "config.json").rename(folder / "open_clip_config.json")
    (folder / "model.safetensors").rename(folder / "open_clip_model.safetensors")
    refused(folder, "has no config.json, but files in the layout of open_clip", "the layout of transformers")


def test_a_siglip_that_chooses_its_size(folder: Path) -> None:
    change(folder / "config.json", model_type="siglip2")
    refused(folder, "NaFlex", "siglip2-base-patch16-224")


def test_wrong_shapes(folder: Path) -> None:
    change(folder / "config.json", text_config__intermediate_size=200)
    refused(folder, "mlp.fc1", "(96, 64)", "(200, 64)")


def test_fewer_layers_than_said(folder: Path) -> None:
    change(folder / "config.json", text_config__num_hidden_layers=4)
    refused(folder, "has no tensor text_model.encoder.layers.3.")


def test_more_layers_than_said(folder: Path) -> None:
    change(folder / "config.json", text_config__num_hidden_layers=2)
    refused(folder, "does not ask for", "text_model.encoder.layers.2.")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("text_config__hidden_size", 10**9),
        ("text_config__hidden_size", 0),
        ("text_config__hidden_size", -64),
        ("text_config__hidden_size", 64.5),
        ("text_config__hidden_size", "64"),
        ("text_config__hidden_size", True),
        ("text_config__hidden_size", [64]),
        ("text_config__num_hidden_layers", 10**6),
        ("text_config__num_attention_heads", 5),
        ("text_config__vocab_size", 10**12),
        ("text_config__max_position_embeddings", 10**7),
        ("text_config__hidden_act", "relu; import os"),
        ("text_config__layer_norm_eps", float("inf")),
        ("text_config__eos_token_id", "two"),
        ("vision_config__patch_size", 0),
        ("vision_config__patch_size", [16, 16]),
        ("vision_config__image_size", 10**8),
        ("vision_config__num_channels", 4),
        ("vision_config", "large"),
        ("text_config", [1]),
        ("projection_dim", 10**30),
        ("projection_dim", 10**400),
        ("text_config__layer_norm_eps", 10**400),
    ],
)
def test_hostile_numbers(folder: Path, key: str, value: Any) -> None:
    change(folder / "config.json", **{key: value})
    assert len(refused(folder).what) < 500


@pytest.mark.parametrize(
    ("key", "value"),
    [("mlp_ratio", float("inf")), ("mlp_ratio", float("nan")), ("mlp_ratio", 10**9), ("hidden_size", 10**12)],
)
def test_hostile_numbers_of_an_eye(
    published: Callable[[str], Path], tmp_path: Path, models_folder: Path, key: str, value: Any
) -> None:
    folder = Path(shutil.copytree(published("dinov2"), tmp_path / "mine"))
    change(folder / "config.json", **{key: value})
    refused(folder, "mlp_ratio")


def test_a_tokenizer_whose_numbers_have_gaps(folder: Path) -> None:
    table = json.loads((folder / "tokenizer.json").read_text())
    first = next(iter(table["model"]["vocab"]))
    table["model"]["vocab"][first] = 900_000
    (folder / "tokenizer.json").write_text(json.dumps(table))
    refused(folder, "has 900,001 tokens")


def test_a_tokenizer_whose_own_code_panics(folder: Path) -> None:
    """A template that names a mark which it does not describe."""
    table = json.loads((folder / "tokenizer.json").read_text())
    table["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[X]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {},
    }
    (folder / "tokenizer.json").write_text(json.dumps(table))
    refused(folder, "tokenizer.json is not a tokenizer that can be read")


def test_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(folder, "a pickle, which can run code", "safetensors")


def test_a_pickle_beside_safetensors_is_not_opened(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(AssertionError, match="a tensor was read"):  # all checks passed
        add_model(folder, "mine")


def test_no_weights_at_all(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, "has no model.safetensors", "vision_model.onnx with text_model.onnx")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", "preprocessor_config.json"])
def test_a_pointer_of_git_lfs(folder: Path, name: str) -> None:
    (folder / name).write_text(POINTER)
    refused(folder, f"{name} is a pointer of Git LFS", "lfs pull")


LINKED = ("config.json", "model.safetensors", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json")


@pytest.mark.parametrize("name", LINKED)
def test_links(folder: Path, name: str) -> None:
    """As a cache of published files has them, where what they lead to may have been deleted."""
    (folder / "blobs").mkdir()
    (folder / name).rename(folder / "blobs" / "0")
    (folder / name).symlink_to("blobs/0")
    with pytest.raises(AssertionError, match="a tensor was read"):  # all checks passed
        add_model(folder, "mine")
    (folder / "blobs" / "0").unlink()
    refused(folder, f"{name} is a link to blobs/0, which is not there", "fetch the folder again")
    (folder / name).unlink()
    (folder / name).symlink_to(name)
    refused(folder, f"cannot read {folder / name}: ")


def shard(folder: Path, places: dict[str, str]) -> None:
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def test_a_missing_shard(folder: Path) -> None:
    shard(folder, {"a": "one.safetensors", "b": "two.safetensors"})
    refused(folder, "has no two.safetensors, which model.safetensors.index.json names")


@pytest.mark.parametrize("name", ["../one.safetensors", "/etc/passwd", "one.bin", "", "a/one.safetensors"])
def test_shards_outside_of_the_folder(folder: Path, name: str) -> None:
    shard(folder, {"a": name})
    refused(folder, "names the file", "a safetensors file of the folder")


@pytest.mark.parametrize("index", ["[]", "{}", '{"weight_map": {}}', '{"weight_map": 3}', "{", "[" * 100_000])
def test_an_index_that_is_none(folder: Path, index: str) -> None:
    shard(folder, {})
    (folder / "model.safetensors.index.json").write_text(index)
    refused(folder, "model.safetensors.index.json")


def test_shards_are_read(folder: Path) -> None:
    shard(folder, {"a": "one.safetensors"})
    with pytest.raises(AssertionError, match="a tensor was read"):
        add_model(folder, "mine")


@pytest.mark.parametrize("data", [b"", b"\0" * 7, struct.pack("<Q", 2**60), struct.pack("<Q", 4) + b"{}  ", b"x" * 99])
def test_damaged_safetensors(folder: Path, data: bytes) -> None:
    (folder / "model.safetensors").write_bytes(data)
    refused(folder)


def test_truncated_safetensors(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused(folder, "cannot read the weights")


def test_a_header_of_very_many_tensors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.towers.folder.MOST_TENSORS", 10)
    refused(folder, "model.safetensors has ", " tensors", "up to 10")


def test_tensors_of_whole_numbers(folder: Path) -> None:
    save_file({"text_model.final_layer_norm.bias": np.zeros(64, np.int32)}, folder / "model.safetensors")
    refused(folder, "is of I32")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("resample", 5),
        ("resample", True),
        ("resample", [3]),
        ("do_resize", False),
        ("do_pad", True),
        ("do_center_crop", False),
        ("do_flip_channel_order", True),
        ("size", {"longest_edge": 64}),
        ("size", {"shortest_edge": 10**9}),
        ("size", {"shortest_edge": 32}),
        ("size", "large"),
        ("crop_size", {"height": 64, "width": 32}),
        ("crop_size", {"height": 48, "width": 48}),
        ("rescale_factor", 0),
        ("rescale_factor", "1/255"),
        ("rescale_factor", 10**400),
        ("rescale_factor", 1e-320),
        ("image_mean", [float("nan")] * 3),
        ("image_mean", [10**400] * 3),
        ("image_std", [float("inf")] * 3),
        ("image_mean", [0.5]),
        ("image_std", [0.5, 0, 0.5]),
        ("image_std", None),
    ],
)
def test_a_preprocessor_that_asks_for_what_there_is_not(folder: Path, key: str, value: Any) -> None:
    change(folder / "preprocessor_config.json", **{key: value})
    refused(folder)


def test_no_preprocessor(folder: Path) -> None:
    (folder / "preprocessor_config.json").unlink()
    refused(folder, "has no preprocessor_config.json")
    (folder / "processor_config.json").write_text('{"image_processor": {"size": 64, "do_pad": true}}')
    refused(folder, "processor_config.json: image_processor asks for do_pad, which is not done here")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_does_not_block(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    refused(folder, "not a regular file")


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "x" * 100, "a b"])
def test_names(folder: Path, name: str) -> None:
    with pytest.raises(SeesayError, match="cannot be called"):
        add_model(folder, name or " ")


@pytest.mark.parametrize("precision", ["int8", "", "fp32 ", "x" * 5000])
def test_a_precision_that_there_is_not(folder: Path, precision: str) -> None:
    with pytest.raises(SeesayError, match="there is no precision") as caught:
        add_model(folder, "mine", precision=precision)
    assert caught.value.allowed is not None
    assert len(caught.value.what) < 120


def test_a_name_that_is_taken(folder: Path, models_folder: Path) -> None:
    with pytest.raises(SeesayError, match="came with seesay"):
        add_model(folder, "vse")
    (models_folder / "mine").mkdir(parents=True)
    refused(folder, "there is a model 'mine' already")


def test_what_was_never_added_cannot_be_removed(models_folder: Path) -> None:
    with pytest.raises(SeesayError, match="no model 'vse' was added"):
        remove_model("vse")


def test_torch_is_asked_for_by_the_name_of_its_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.system.extras._is_there", lambda module: module != "torch")
    refused(folder, "needs the optional part [towers]", "pip install 'seesay[towers]'")


def test_a_tower_that_no_graph_can_hold(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.export.adding.LARGEST", 100_000)
    refused(folder, "tower takes", "more than a graph's file holds")
