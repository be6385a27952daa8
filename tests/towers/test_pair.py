"""A published pair of ONNX files is added and used without torch, and answers as the model that it came from."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import seesay
from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.runtime.matching import Model
from seesay.verbs.adding import add_model
from seesay.verbs.photos import PhotoModels

pytest.importorskip("transformers")
SAMPLE = Path(seesay.__file__).parent / "samples" / "cat.jpg"
WITHOUT_TORCH = """
import sys
for name in ("torch", "onnx", "transformers"):
    sys.modules[name] = None
from pathlib import Path
from seesay.verbs.adding import add_model
import seesay
add_model(Path(sys.argv[1]), "pair")
print(seesay.match(sys.argv[2], ["a cat", "a dog"], model="pair").scores.shape)
"""


@pytest.fixture(scope="session")
def pair(published: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.published import write_pair

    return write_pair(published("clip"), tmp_path_factory.mktemp("pair") / "pair")


@pytest.fixture
def folder(pair: Path, tmp_path: Path, models_folder: Path) -> Path:
    """A folder of one's own to spoil."""
    return Path(shutil.copytree(pair, tmp_path / "mine"))


def refused(folder: Path, *words: str) -> None:
    with pytest.raises(SeesayError) as caught:
        add_model(folder, "mine")
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_it_answers_as_the_towers_do(
    pair: Path, published: Callable[[str], Path], photos: list[Image.Image], captions: list[str], models_folder: Path
) -> None:
    from seesay.models.pretrained import load

    add_model(pair, "pair")
    add_model(published("clip"), "towers")
    ours, theirs, in_torch = Model("pair"), Model("towers"), load("pair")
    assert np.abs(ours.encode_texts(captions) - theirs.encode_texts(captions)).max() < 1e-5
    seen = [model.encode_images(model.network.features(photos)) for model in (ours, theirs)]
    assert np.abs(seen[0] - seen[1]).max() < 2e-4  # both rounded to half precision
    assert (
        np.abs(ours.score(seen[0], ours.encode_texts(["a dog"])) - seen[0] @ ours.encode_texts(["a dog"]).T).max() == 0
    )
    assert np.abs(in_torch.encode_texts(captions[:50]).numpy() - ours.encode_texts(captions[:50])).max() < 1e-6
    assert np.abs(in_torch.encode_images(in_torch.features(photos)).numpy() - seen[0]).max() < 1e-5
    assert ours.explainers == ("crops",)


def test_the_page_explains_what_it_has_found_by_crops(pair: Path, models_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    shutil.copy(SAMPLE, tmp_path / "photos")
    add_model(pair, "pair")
    with Library(tmp_path / "library", model="pair", stages=()) as opened:
        opened.index(tmp_path / "photos")
        (photo,) = opened.latest(1)
        words = PhotoModels(opened).explain(photo, "a cat")
    assert [(word.text, word.content, word.heat is None) for word in words] == [
        ("a", False, True),
        ("cat", True, False),
    ]


def test_neither_adding_nor_using_it_needs_torch(pair: Path, models_folder: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, str(pair), str(SAMPLE)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.stdout == "(1, 2)\n", finished.stderr


def test_a_missing_half(folder: Path) -> None:
    (folder / "onnx" / "text_model.onnx").unlink()
    refused(folder, "has vision_model.onnx and no text_model.onnx")


def test_a_pointer_of_git_lfs(folder: Path) -> None:
    (folder / "onnx" / "vision_model.onnx").write_text("version https://git-lfs.github.com/spec/v1\n")
    refused(folder, "vision_model.onnx is a pointer of Git LFS")


def test_a_graph_that_is_none(folder: Path) -> None:
    (folder / "onnx" / "vision_model.onnx").write_bytes(b"no graph")
    refused(folder, "vision_model.onnx")


def test_two_graphs_the_wrong_way_round(folder: Path) -> None:
    vision, text = folder / "onnx" / "vision_model.onnx", folder / "onnx" / "text_model.onnx"
    vision.rename(folder / "other")
    text.rename(vision)
    (folder / "other").rename(text)
    refused(folder, "asks for 'input_ids'", "pixel_values")


def test_numbers_in_another_file(folder: Path) -> None:
    import onnx

    path = folder / "onnx" / "vision_model.onnx"
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="secrets", size_threshold=0)
    refused(folder, "has numbers in 'secrets'")


def test_a_damaged_graph_is_to_be_fetched_again(folder: Path) -> None:
    path = folder / "onnx" / "text_model.onnx"
    path.write_bytes(path.read_bytes()[:5000])
    refused(folder, "is damaged or truncated", "fetch the file again")


def test_a_graph_for_other_squares(folder: Path) -> None:
    path = folder / "preprocessor_config.json"
    table = json.loads(path.read_text())
    path.write_text(json.dumps({**table, "size": {"shortest_edge": 96}, "crop_size": {"height": 96, "width": 96}}))
    refused(folder, "vision_model.onnx cannot be run", "Got: 96 Expected: 64")


def test_a_graph_for_one_photo_at_a_time(folder: Path) -> None:
    import onnx

    path = folder / "onnx" / "vision_model.onnx"
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, path)
    refused(folder, "vision_model.onnx cannot be run on two inputs", "Got: 2 Expected: 1")


def test_a_graph_that_takes_half_precision(folder: Path) -> None:
    import onnx

    path = folder / "onnx" / "vision_model.onnx"
    model = onnx.load(path)
    for node in model.graph.node:
        node.input[:] = ["single" if name == "pixel_values" else name for name in node.input]
    model.graph.node.insert(0, onnx.helper.make_node("Cast", ["pixel_values"], ["single"], to=onnx.TensorProto.FLOAT))
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    onnx.save(model, path)
    refused(folder, "takes pixel_values as tensor(float16)", "tensor(float)")


def test_a_graph_of_damaged_weights(folder: Path, published: Callable[[str], Path], models_folder: Path) -> None:
    from safetensors.numpy import load_file

    bias = load_file(published("clip") / "model.safetensors")["vision_model.encoder.layers.1.mlp.fc1.bias"].tobytes()
    path = folder / "onnx" / "vision_model.onnx"
    graph = path.read_bytes()
    assert bias in graph
    path.write_bytes(graph.replace(bias, np.full(len(bias) // 4, np.nan, np.float32).tobytes()))
    refused(folder, "the tower makes no vector of an image")
    assert list(models_folder.iterdir()) == []


def test_its_regions_are_crops(pair: Path, models_folder: Path) -> None:
    from seesay.verbs.regions import find_regions

    add_model(pair, "pair")
    samples = Path(__file__).parents[2] / "src" / "seesay" / "samples"
    with pytest.raises(SeesayError, match="has no vectors of places") as caught:
        find_regions("a cat", samples, model="pair")
    assert caught.value.hint == "--crops"
    assert len(find_regions("a cat", samples, model="pair", n=2, crops=True)["a cat"]) == 2


def test_a_missing_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    refused(folder, "has no config.json")


def test_a_graph_that_was_changed_after_it_was_added(pair: Path, models_folder: Path) -> None:
    add_model(pair, "pair")
    path = models_folder / "pair" / "texts.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(SeesayError, match="is not the one that was added"):
        Model("pair").encode_texts(["a dog"])


def test_a_graph_that_is_gone_since_it_was_added(pair: Path, models_folder: Path) -> None:
    add_model(pair, "pair")
    (models_folder / "pair" / "texts.onnx").unlink()
    with pytest.raises(SeesayError, match=r"cannot read .*texts\.onnx"):
        Model("pair").encode_texts(["a dog"])


@pytest.mark.parametrize("how", ["code", 3, None, {"output": 4}, []])
def test_a_table_that_says_something_else(pair: Path, models_folder: Path, how: object) -> None:
    add_model(pair, "pair")
    path = models_folder / "pair" / "config.json"
    about = json.loads(path.read_text())
    about["graphs"]["files"]["images"] = {"published": how}
    path.write_text(json.dumps(about))
    model = Model("pair")
    with pytest.raises(SeesayError, match="described by"):
        model.graphs.open("images")
