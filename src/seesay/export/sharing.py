"""A graph without weights of its own: its initialisers are places in the weights file beside it.

The file holds half-precision numbers, the graph computes in single precision: each initialiser is followed by a cast,
which ONNX Runtime does once, when it opens the graph. Words are the exception. Of thousands of them a sentence has ten,
so the cast comes after they have been looked up. ONNX allows offsets of any alignment, and ONNX Runtime reads them; the
header of a safetensors file is padded to 8 bytes only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from seesay.errors import SeesayError
from seesay.images.state_dicts import ROWS, SCALE
from seesay.runtime.folder import HALF, MODEL, WEIGHTS
from seesay.runtime.tensors import Place, map_tensor, read_places

_AXES = "axes_"
_LARGEST = 1 << 16
"""Bytes of a constant that a graph may hold itself, such as which cells of a map make up which regions."""


@dataclass(frozen=True)
class Source:
    """A tensor that a graph points to.

    Attributes:
        place: In the weights file.
        weights: The source weights whose file it is; empty for the graph's own.
        tensor: Its name there.
    """

    place: Place
    weights: str
    tensor: str


def find_sources(model: torch.nn.Module, folder: Path, folders: Mapping[str, Path]) -> dict[str, Source]:
    """Where each tensor of a model lies: in its own file, or, found by its numbers, in that of source weights."""
    own = read_places(folder / WEIGHTS)
    found = {name: Source(place, "", name) for name, place in own.items()}
    theirs = {weights: read_places(path / WEIGHTS) for weights, path in folders.items()}
    for name, tensor in model.state_dict().items():
        if name in found:
            continue
        numbers = tensor.half().numpy()
        for weights, places in theirs.items():
            for other, place in places.items():
                is_same = place.shape == numbers.shape and place.dtype == np.float16
                if is_same and np.array_equal(map_tensor(folders[weights] / WEIGHTS, place), numbers):
                    found[name] = Source(place, weights, other)
    return found


def share_weights(graph: onnx.ModelProto, sources: Mapping[str, Source]) -> dict[str, str]:
    """Let a graph's initialisers point into weights files; give those that are shared: name → `WEIGHTS:TENSOR`."""
    shared: dict[str, str] = {}
    casts = _unpack(graph, sources)
    for initializer in graph.graph.initializer:
        name = initializer.name
        source = sources.get(name.removeprefix(MODEL))
        if initializer.data_location == TensorProto.EXTERNAL:
            continue  # a packed one
        if source is not None and source.place.dtype == np.float32 and not source.weights:
            _point_to(initializer, _fitting(initializer, source), name)
            continue
        if source is None or source.place.dtype != np.float16:
            if name.startswith(MODEL):
                raise SeesayError(f"the graph holds the weight {name!r}, which no weights file has in half precision")
            _check_size(name, initializer)
            continue
        _fitting(initializer, source)
        if source.weights:
            shared[name + HALF] = f"{source.weights}:{source.tensor}"
        _point_to(initializer, source.place, name + HALF)
        if _is_used_whole(graph, name):
            casts.append(helper.make_node("Cast", [name + HALF], [name], to=TensorProto.FLOAT))
    for cast in reversed(casts):
        graph.graph.node.insert(0, cast)
    for node in graph.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _check_size(node.name, attribute.t)
    return shared


def _fitting(initializer: TensorProto, source: Source) -> Place:
    """The place of a tensor that has the shape of the graph's."""
    found, place = tuple(initializer.dims), source.place
    if found != place.shape:
        raise SeesayError(f"{initializer.name} is {found} in the graph, {place.shape} in the weights")
    return place


def store_in_half(graph: onnx.ModelProto) -> None:
    """Keep a graph's matrices and kernels in half precision: half the file, and the same work once it is open."""
    casts = []
    for initializer in graph.graph.initializer:
        numbers = numpy_helper.to_array(initializer)
        if numbers.dtype == np.float32 and numbers.ndim > 1:  # biases take no room
            name = initializer.name
            initializer.CopyFrom(numpy_helper.from_array(numbers.astype(np.float16), name + HALF))
            casts.append(helper.make_node("Cast", [name + HALF], [name], to=TensorProto.FLOAT))
    for cast in reversed(casts):
        graph.graph.node.insert(0, cast)


def _unpack(graph: onnx.ModelProto, sources: Mapping[str, Source]) -> list[onnx.NodeProto]:
    """Let the graph unpack matrices that the weights file holds as bytes (`seesay.layers.packing`).

    Returns:
        What has to be done before anything else, for matrices that are not only looked up row by row.
    """
    body = graph.graph
    before: list[onnx.NodeProto] = []
    packed = [each for each in body.initializer if each.name.removeprefix(MODEL) + ROWS in sources]
    for n_axes in {0, *(len(each.dims) - 1 for each in packed)} if packed else ():
        axes = np.arange(1, n_axes + 1) if n_axes else np.array([-1])
        body.initializer.append(numpy_helper.from_array(axes.astype(np.int64), f"{_AXES}{n_axes}"))
    for initializer in packed:
        name, own, n_axes = initializer.name, initializer.name.removeprefix(MODEL), len(initializer.dims) - 1
        rows, scale = name + ROWS, name + SCALE + HALF
        _point_to(initializer, sources[own + ROWS].place, rows)
        _point_to(body.initializer.add(), sources[own + SCALE].place, scale)
        whole = False
        for place in reversed(range(len(body.node))):
            node = body.node[place]
            if node.op_type == "Gather" and node.input[0] == name and _axis(node) == 0:
                wanted, output = node.input[1], node.output[0]
                found = [output + ROWS, output + SCALE]
                looked_up = [
                    helper.make_node("Gather", [source, wanted], [target])
                    for source, target in zip((rows, scale), found, strict=True)
                ]
                body.node.remove(node)
                for step in reversed([*looked_up, *_scaled(found[0], found[1], output, 0)]):
                    body.node.insert(place, step)
            elif name in _all_inputs([node]):
                whole = True
        if whole:
            before += _scaled(rows, scale, name, n_axes)
    return before


def _scaled(rows: str, scale: str, output: str, n_axes: int) -> list[onnx.NodeProto]:
    """Whole numbers times a scale for each row, which is followed by `n_axes` axes; 0 for rows that were looked up."""
    parts = [output + part for part in (".whole", ".factor", ".column")]
    return [
        helper.make_node("Cast", [rows], [parts[0]], to=TensorProto.FLOAT),
        helper.make_node("Cast", [scale], [parts[1]], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", [parts[1], f"{_AXES}{n_axes}"], [parts[2]]),
        helper.make_node("Mul", [parts[0], parts[2]], [output]),
    ]


def _point_to(initializer: TensorProto, place: Place, name: str) -> None:
    initializer.Clear()
    initializer.name, initializer.data_type = name, helper.np_dtype_to_tensor_dtype(np.dtype(place.dtype))
    initializer.dims.extend(place.shape)
    initializer.data_location = TensorProto.EXTERNAL
    for key, value in (("location", WEIGHTS), ("offset", place.offset), ("length", place.length)):
        entry = initializer.external_data.add()
        entry.key, entry.value = key, str(value)


def _is_used_whole(graph: onnx.ModelProto, name: str) -> bool:
    """Let rows that are looked up be cast after that; whether the tensor is used in other ways, too."""
    whole = False
    nodes = graph.graph.node
    for place in reversed(range(len(nodes))):
        node = nodes[place]
        if node.op_type == "Gather" and node.input[0] == name and _axis(node) == 0:
            output = node.output[0]
            node.input[0], node.output[0] = name + HALF, output + HALF
            nodes.insert(place + 1, helper.make_node("Cast", [output + HALF], [output], to=TensorProto.FLOAT))
        elif name in _all_inputs([node]):
            whole = True
    return whole


def _all_inputs(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """What nodes read, those inside of their loops included."""
    found: set[str] = set()
    for node in nodes:
        found.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _all_inputs(attribute.g.node)
    return found


def _axis(node: onnx.NodeProto) -> int:
    return next((int(attribute.i) for attribute in node.attribute if attribute.name == "axis"), 0)


def _check_size(name: str, tensor: TensorProto) -> None:
    if numpy_helper.to_array(tensor).nbytes > _LARGEST:
        raise SeesayError(f"the graph holds the constant {name!r}", allowed=f"at most {_LARGEST:,} bytes")


def shorten_names(graph: onnx.ModelProto) -> None:
    """Number the values between a graph's inputs and outputs: their names are most of its file."""
    body = graph.graph
    kept = {value.name for value in (*body.input, *body.output)} | {tensor.name for tensor in body.initializer}
    names: dict[str, str] = {name: name for name in kept}

    def rename(name: str) -> str:
        return names.setdefault(name, f"v{len(names)}") if name else name

    def visit(inner: onnx.GraphProto) -> None:
        for tensor in inner.initializer:
            tensor.name = rename(tensor.name)
        for value in (*inner.input, *inner.output):
            value.name = rename(value.name)
        del inner.value_info[:]
        for node in inner.node:
            node.ClearField("name")
            node.ClearField("doc_string")
            node.input[:] = [rename(name) for name in node.input]
            node.output[:] = [rename(name) for name in node.output]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    visit(attribute.g)

    visit(body)
