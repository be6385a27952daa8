"""What is damaged, foreign or out of place is refused by name."""

import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from seesay.errors import SeesayError
from seesay.export.exporting import SAMPLES
from seesay.models.pretrained import load
from seesay.runtime.folder import WEIGHTS, GraphFolder, file_digest
from seesay.runtime.graph_file import read_graph_file
from seesay.runtime.matching import Model
from seesay.runtime.network import Network
from seesay.runtime.tensors import map_tensor, read_places


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    """A copy of vse that may be broken."""
    shutil.copytree(exported / "vse", tmp_path / "vse")
    return tmp_path / "vse"


def change_config(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    about = json.loads((folder / "config.json").read_text())
    change(about)
    (folder / "config.json").write_text(json.dumps(about))


def change_graph(folder: Path, change: Callable[[onnx.ModelProto], None]) -> None:
    """Rewrite a graph as somebody would who renews its digest, too."""
    path = folder / "texts.onnx"
    graph = onnx.load(path, load_external_data=False)
    change(graph)
    path.write_bytes(graph.SerializeToString())
    change_config(folder, lambda about: about["graphs"]["files"]["texts"].update(digest=file_digest(path)))


def refused(folder: Path, match: str) -> None:
    with pytest.raises(SeesayError, match=match):
        Model(folder).encode_texts(["a dog"])


def test_weights_without_graphs_say_what_to_type(copied: Path) -> None:
    change_config(copied, lambda about: about.pop("graphs"))
    refused(copied, r"seesay export .*/vse")


def test_a_truncated_graph_is_refused(copied: Path) -> None:
    path = copied / "texts.onnx"
    path.write_bytes(path.read_bytes()[:-500])
    refused(copied, "texts.onnx is damaged or truncated")


def test_an_empty_graph_is_refused(copied: Path) -> None:
    (copied / "texts.onnx").write_bytes(b"")
    refused(copied, "texts.onnx is damaged or truncated: it holds no graph")


def test_a_damaged_graph_is_refused(copied: Path) -> None:
    path = copied / "texts.onnx"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    refused(copied, "texts.onnx")


def test_a_graph_that_is_gone_is_named(copied: Path) -> None:
    (copied / "texts.onnx").unlink()
    refused(copied, "cannot read the graph .*texts.onnx")


def test_another_operator_set_is_refused_by_the_table_and_by_the_graph(copied: Path) -> None:
    def renew(graph: onnx.ModelProto) -> None:
        graph.opset_import[0].version = 99

    change_graph(copied, renew)
    refused(copied, "operator set 99")
    change_config(copied, lambda about: about["graphs"].update(opset=16))
    refused(copied, "operator set 16")


@pytest.mark.parametrize("location", ["../other/model.safetensors", "/etc/passwd", "sub/model.safetensors", ".."])
def test_numbers_outside_of_the_folder_are_refused(copied: Path, location: str) -> None:
    def move(graph: onnx.ModelProto) -> None:
        for tensor in graph.graph.initializer:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = location

    change_graph(copied, move)
    refused(copied, "a file of the same folder")


def _elsewhere(location: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name="hidden", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.mark.parametrize("place", ["constant", "branch", "sparse", "function"])
def test_numbers_of_another_file_are_refused_wherever_a_graph_hides_them(copied: Path, place: str) -> None:
    """ONNX Runtime reads them for constants and in branches as well."""

    def hide(graph: onnx.ModelProto) -> None:
        constant = onnx.helper.make_node("Constant", [], ["unused"], value=_elsewhere("card.md"))
        if place == "constant":
            graph.graph.node.append(constant)
        elif place == "branch":
            branch = onnx.helper.make_graph([], "branch", [], [], [_elsewhere("card.md")])
            graph.graph.node.append(onnx.helper.make_node("If", ["x"], ["unused"], then_branch=branch))
        elif place == "sparse":
            graph.graph.sparse_initializer.add(values=_elsewhere("card.md"))
        else:
            graph.functions.add(name="hidden").node.append(constant)

    change_graph(copied, hide)
    refused(copied, "a node has numbers in another file")


@pytest.mark.parametrize("file", ["../vse/texts.onnx", "", ".."])
def test_a_graph_outside_of_the_folder_is_refused(copied: Path, file: str) -> None:
    change_config(copied, lambda about: about["graphs"]["files"]["texts"].update(file=file))
    refused(copied, "a file of the same folder")


def test_a_link_out_of_the_folder_is_refused(copied: Path, tmp_path: Path) -> None:
    (copied / "texts.onnx").rename(tmp_path / "texts.onnx")
    (copied / "texts.onnx").symlink_to(tmp_path / "texts.onnx")
    refused(copied, "link out of its folder")


@pytest.mark.parametrize(
    "entry",
    [{"shape": [[2], 2_000_000_000]}, {"shape": [2.0, 2]}, {"shape": [-2, -2]}, {"shape": [2**62] * 3_000_000},
     {"shape": {"2": 2}}, {"data_offsets": [0.0, 16.0]}, {"data_offsets": [True, 17]}, {"data_offsets": [-16, 0]}],
    ids=lambda entry: str(entry)[:30],
)  # fmt: skip
def test_a_tensor_without_a_shape_or_a_place_is_refused(entry: dict[str, Any], tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16], **entry}}).encode()
    (tmp_path / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + bytes(32))
    with pytest.raises(SeesayError, match="are damaged or truncated"):
        read_places(tmp_path / WEIGHTS)


def test_truncated_weights_are_refused_before_they_are_read(copied: Path) -> None:
    path = copied / WEIGHTS
    path.write_bytes(path.read_bytes()[:-1000])
    refused(copied, "model.safetensors are damaged or truncated")


def test_other_weights_do_not_fit_the_graph(copied: Path, exported: Path) -> None:
    shutil.copy(exported / "mrnn" / WEIGHTS, copied / WEIGHTS)
    refused(copied, "does not fit model.safetensors")


def test_another_vocabulary_is_refused(copied: Path, exported: Path) -> None:
    shutil.copy(exported / "mrnn" / "vocabulary.json", copied / "vocabulary.json")
    refused(copied, "was written for")
    words = GraphFolder(exported / "mrnn").vocabulary.fingerprint()
    change_config(copied, lambda about: about.update(vocabulary=words))
    refused(copied, r"knows 9384 words, vse has \d+")


@pytest.mark.parametrize("size", [512, -1])
def test_another_size_than_the_graphs_were_written_for_is_refused(copied: Path, size: int) -> None:
    change_config(copied, lambda about: about["config"].update(dim=size))
    refused(copied, rf"vse/config.json: config.dim is {size}, its graphs were written for 768")


def test_graphs_of_earlier_releases_which_name_no_sizes_are_read(copied: Path) -> None:
    change_config(copied, lambda about: about["graphs"].pop("sizes"))
    assert Model(copied).encode_texts(["a dog"]).shape == (1, 768)


def test_a_network_of_other_weights_is_refused(exported: Path, copied: Path) -> None:
    change_config(copied, lambda about: about["graphs"].update(network="efficientnet-lite9"))
    with pytest.raises(SeesayError, match="no exported network"):
        Model(copied).features([SAMPLES / "cat.jpg"])
    network = next(exported.glob("efficientnet*"))
    with pytest.raises(SeesayError, match="wanted is 123"):
        Network(network, digest="123")


def test_a_truncated_network_is_refused(exported: Path, tmp_path: Path) -> None:
    shutil.copytree(next(exported.glob("efficientnet*")), tmp_path / "network")
    path = tmp_path / "network" / "network.onnx"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SeesayError, match=r"network.onnx is damaged or truncated"):
        _ = Network(tmp_path / "network").session


def test_a_verb_that_weights_do_not_answer_is_named(exported: Path) -> None:
    with pytest.raises(SeesayError, match="vse has no graph 'step'"):
        Model(exported / "vse").step((np.zeros((1, 1), np.float32),), np.array([1]))


def test_tensors_are_found_where_safetensors_finds_them() -> None:
    from safetensors.numpy import load_file

    path = load("identifier").weights.folder / WEIGHTS  # type: ignore[union-attr]
    wanted, places = load_file(path), read_places(path)
    assert places.keys() == wanted.keys()
    assert all(np.array_equal(map_tensor(path, places[name]), wanted[name]) for name in wanted)


@pytest.mark.parametrize("content", [b"", b"\x00" * 4, struct.pack("<Q", 1 << 50), struct.pack("<Q", 2) + b"[]"])
def test_what_is_no_safetensors_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / WEIGHTS).write_bytes(content)
    with pytest.raises(SeesayError, match="damaged or truncated"):
        read_places(tmp_path / WEIGHTS)


def test_what_a_graph_says_is_what_onnx_reads(exported: Path) -> None:
    path = exported / "vse" / "texts.onnx"
    graph = onnx.load(path, load_external_data=False)
    found = read_graph_file(path)
    assert found.opset == graph.opset_import[0].version
    assert {name: place.shape for name, place in found.stored.items()} == {
        tensor.name: tuple(tensor.dims) for tensor in graph.graph.initializer
    }
    onnx.checker.check_model(str(path))


WITHOUT_TORCH = """
import json, sys
from pathlib import Path
sys.modules["torch"] = None  # importing it raises
from seesay.runtime.matching import Model

root, cat = Path(sys.argv[1]), sys.argv[2]
vse = Model(root / "vse")
text = vse.encode_texts(["a cat"])
opened = sorted(vse.graphs._sessions)
assert "network" not in vars(vse), "a sentence has opened the network"
dvsa = Model(root / "dvsa")
seen = dvsa.features([cat])
phrases = dvsa.encode_phrases(["the cat", "its eyes"])
heavy = ("torch", "safetensors", "onnx", "scipy", "cv2", "spacy", "matplotlib")
absent = [name for name in heavy if sys.modules.get(name)]
score = vse.score(vse.encode_images(vse.features([cat])), text)
print(json.dumps({"opened": opened, "score": score.tolist(), "phrases": phrases.shape,
                  "regions": seen.parts.shape, "loaded": absent}))
"""


def test_everything_is_answered_where_torch_cannot_be_imported(exported: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(exported), str(SAMPLES / "cat.jpg")],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["opened"] == ["texts"]
    assert found["loaded"] == []
    assert found["score"][0] == pytest.approx(load("vse").match(SAMPLES / "cat.jpg", "a cat")[0].tolist(), abs=3e-3)
    assert found["phrases"] == [2, 768]
    assert found["regions"] == [1, 20, 2560]


def ask_for_a_petabyte(graph: onnx.ModelProto) -> None:
    """Add a tensor that no machine can hold to the first output."""
    nodes, output = graph.graph.node, graph.graph.output[0].name
    graph.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2**20, 2**27]), "petabyte"))
    for node in nodes:
        for place, name in enumerate(node.output):
            if name == output:
                node.output[place] = "before"
    nodes.append(onnx.helper.make_node("ConstantOfShape", ["petabyte"], ["zeros"]))
    nodes.append(onnx.helper.make_node("ReduceSum", ["zeros"], ["zero"], keepdims=0))
    nodes.append(onnx.helper.make_node("Add", ["before", "zero"], [output]))


def turn_round(graph: onnx.ModelProto) -> None:
    graph.graph.node[0].input[0] = graph.graph.node[-1].output[0]


def rename_inputs(graph: onnx.ModelProto) -> None:
    for given in graph.graph.input:
        for node in graph.graph.node:
            for place, name in enumerate(node.input):
                if name == given.name:
                    node.input[place] = f"other-{name}"
        given.name = f"other-{given.name}"


def enlarge(graph: onnx.ModelProto) -> None:
    for tensor in graph.graph.initializer:
        if tensor.external_data:
            del tensor.dims[:]
            tensor.dims.extend([2**40, 2**20])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (ask_for_a_petabyte, "cannot compute the graph"),
        (turn_round, "cannot open the graph"),
        (rename_inputs, "asks for other-"),
        (enlarge, "does not fit model.safetensors"),
    ],
)
def test_a_graph_that_cannot_be_computed_is_an_error_that_names_it(
    copied: Path, change: Callable[[onnx.ModelProto], None], told: str
) -> None:
    change_graph(copied, change)
    refused(copied, told)
