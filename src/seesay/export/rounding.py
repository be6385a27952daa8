"""The network in whole numbers of 8 bits: a graph without numbers, and the ranges from which they are computed.

Nothing of the weights is stored twice. The graph says which convolutions follow each other; its numbers are computed
from the weights in half precision whenever it is opened (`seesay.runtime.rounded`), by what is measured on training
photos here: how far each channel of a block's output reaches, and the mean of each channel that a convolution reads.

What is kept of the rounding's cost, each found by looking at one layer at a time:
- The first convolutions stay in single precision. They see the pixels, and half of all error came from them.
- A depthwise kernel keeps its sum: many are edges, whose sum is almost nothing, on channels that are never 0.
- What rounding a weight adds on the mean of its channel is subtracted from the bias.
- What passes ReLU6 has the range 0 to 6 on any photo, so no range of it is measured, and none can be too small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from seesay.runtime.folder import HALF, MODEL
from seesay.runtime.rounded import ELSEWHERE, N_LEVELS, RELU, ZERO

N_FLOAT = 3
"""Convolutions from the pixels on that stay in single precision."""
_IR = 9
_LEAST = 0.02  # of the widest channel's range: what a channel that is always 0 is given

Floats = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Convolution:
    """A convolution of a graph, with the ReLU6 behind it."""

    name: str
    source: str
    target: str
    relu: bool
    group: int
    stride: int
    pads: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Sum:
    """A block's output on what the block was given."""

    branch: str
    before: str
    target: str


@dataclass
class Layers:
    """What a graph computes, in order, and what it gives: the names of tensors in it by output."""

    steps: list[Convolution | Sum] = field(default_factory=list)
    given: str = ""
    map: str = ""
    lower: str = ""

    @property
    def convolutions(self) -> list[Convolution]:
        return [step for step in self.steps if isinstance(step, Convolution)]

    @property
    def linear(self) -> set[str]:
        """What has passed no ReLU6, and so has both signs."""
        return {self.given, *(step.target for step in self.steps if isinstance(step, Sum) or not step.relu)}


def read_layers(model: onnx.ModelProto) -> Layers:
    """The convolutions and sums of a network of inverted residual blocks."""
    graph, found = model.graph, Layers()
    made_by = {name: node for node in graph.node for name in node.output}
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    clipped = {node.input[0]: node.output[0] for node in graph.node if node.op_type == "Clip"}
    for node in graph.node:
        if node.op_type == "Conv":
            values = {each.name: helper.get_attribute_value(each) for each in node.attribute}
            source, pads = node.input[0], tuple(values["pads"])
            if source in made_by and made_by[source].op_type == "Pad":  # of an even side, where every other is taken
                source, pads = made_by[source].input[0], (0, 0, 1, 1)
            target = clipped.get(node.output[0], node.output[0])
            stored = _stored(node.input[1], made_by)
            size = values["group"], values["strides"][0], pads, shapes[stored]
            name = stored.removeprefix(MODEL).partition(".weight")[0]
            found.steps.append(Convolution(name, source, target, target != node.output[0], *size))
        elif node.op_type == "Add" and all(name in made_by for name in node.input):
            found.steps.append(Sum(node.input[0], node.input[1], node.output[0]))
    for node in graph.node:
        if node.op_type == "Transpose" and node.output[0] in ("map", "lower"):
            setattr(found, node.output[0], node.input[0])
    found.given = found.convolutions[0].source
    return found


def _stored(name: str, made_by: Mapping[str, onnx.NodeProto]) -> str:
    """The initialiser that a tensor is made from."""
    while name in made_by:
        name = made_by[name].input[0]
    return name


def measure(model: onnx.ModelProto, inputs: Sequence[Mapping[str, NDArray[Any]]]) -> tuple[Arrays, Arrays]:
    """On real photos, the largest size of each channel of what passes no ReLU6, and every channel's mean."""
    import onnxruntime

    layers = read_layers(model)
    tapped = onnx.ModelProto()
    tapped.CopyFrom(model)
    linear = layers.linear
    wanted = sorted(linear | {step.source for step in layers.convolutions})
    del tapped.graph.output[:]
    tapped.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in wanted)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(tapped.SerializeToString(), options, providers=["CPUExecutionProvider"])
    largest: Arrays = {}
    totals: dict[str, list[Floats]] = {name: [] for name in wanted}
    for given in inputs:
        for name, array in zip(wanted, session.run(wanted, dict(given)), strict=True):
            totals[name].append(array.mean((0, 2, 3)))
            if name in linear:
                largest[name] = np.maximum(largest.get(name, 0), np.abs(array).max((0, 2, 3)))
    return largest, {name: np.mean(rows, 0) for name, rows in totals.items()}


class Rounding:
    """Writes the graph in 8 bits, and the table of ranges that its numbers are computed from."""

    def __init__(self, model: onnx.ModelProto, largest: Arrays, means: Arrays, *, n_float: int) -> None:
        self.model, self.layers = model, read_layers(model)
        self.largest, self.means, self.n_float = largest, means, n_float
        self.nodes: list[onnx.NodeProto] = []
        self.own: dict[str, onnx.TensorProto] = {}
        self.ranges: Arrays = {}
        self.units = self._units()

    def _units(self) -> dict[str, Floats]:
        """What one step of 8 bits is worth: of channels that are added to each other the same."""
        units: dict[str, Floats] = {}
        group = {self.layers.given: [self.layers.given]}
        for step in self.layers.steps:
            if isinstance(step, Sum):
                group[step.before].append(step.target)
                group[step.target] = group[step.before]
            elif step.relu:
                units[step.target] = np.full(1, RELU / N_LEVELS, np.float32)
            else:
                group[step.target] = [step.target]
        for name, others in group.items():
            width = np.max([self.largest[other] for other in others], 0)
            units[name] = (np.maximum(width, _LEAST * width.max()) / (N_LEVELS // 2)).astype(np.float32)
        for step in self.layers.steps:
            if isinstance(step, Sum):  # in the units of what it is added to, or a fraction of them
                share = float((self.largest[step.branch] / (N_LEVELS // 2) / units[step.before]).max())
                units[step.branch] = (units[step.before] * np.float32(share)).astype(np.float32)
        return units

    def write(self) -> tuple[onnx.ModelProto, Arrays]:
        """The graph, and the table."""
        given = self.model.graph.input[0]
        self._start(given.name)
        linear = self.layers.linear
        for place, step in enumerate(self.layers.steps):
            if isinstance(step, Sum):
                share = np.float32(self.units[step.branch][0] / self.units[step.before][0])
                scales = [self._number(f"{step.target}.share", share), "middle", step.before, "one", "middle", "one"]
                self._node("QLinearAdd", [step.branch, *scales, "middle"], step.target, domain="com.microsoft")
            elif place < self.n_float:
                self._convolve(step)
                if place == self.n_float - 1:
                    self._quantise(step.target + ".float", step.target, self.units[step.target])
            else:
                self._convolve_rounded(step, "middle" if step.source in linear else "nothing", linear)
        self._finish(linear)
        outputs = list(self.model.graph.output)
        graph = helper.make_graph(self.nodes, "network", [given], outputs, list(self.own.values()))
        sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, ir_version=_IR, opset_imports=sets), self.ranges

    def _start(self, given: str) -> None:
        self._number("one", np.float32(1))
        self._number("middle", np.uint8(ZERO))
        self._number("nothing", np.uint8(0))
        if not self.n_float:
            self._node("Transpose", [given], "turned", perm=[0, 3, 1, 2])
            self._quantise("turned", self.layers.given, self.units[self.layers.given])
            return
        for name, tensor in (("model.mean", "mean"), ("model.std", "std")):
            (found,) = [each for each in self.model.graph.initializer if each.name == name]
            self._number(tensor, numpy_helper.to_array(found))
        self._node("Cast", [given], "numbers", to=TensorProto.FLOAT)
        self._node("Sub", ["numbers", "mean"], "centred")
        self._node("Div", ["centred", "std"], "normal")
        self._node("Transpose", ["normal"], self.layers.given + ".float", perm=[0, 3, 1, 2])

    def _quantise(self, source: str, target: str, unit: Floats) -> None:
        steps = (1 / unit.astype(np.float64)).astype(np.float32)[:, None, None]
        self._node("Mul", [source, self._number(target + ".steps", steps)], target + ".scaled")
        self._node("QuantizeLinear", [target + ".scaled", "one", "middle"], target)

    def _convolve(self, step: Convolution) -> None:
        made = step.target + (".linear" if step.relu else ".float")
        weights = [
            self._elsewhere(f"{step.name}.weight", TensorProto.FLOAT, step.shape),
            self._elsewhere(f"{step.name}.bias", TensorProto.FLOAT, step.shape[:1]),
        ]
        self._node("Conv", [step.source + ".float", *weights], made, **self._shape(step))
        if step.relu:
            limits = [self._number("least", np.float32(0)), self._number("most", np.float32(RELU))]
            self._node("Clip", [made, *limits], step.target + ".float")

    def _convolve_rounded(self, step: Convolution, zero: str, linear: set[str]) -> None:
        weights = [
            self._elsewhere(f"{step.name}.weight", TensorProto.INT8, step.shape),
            self._elsewhere(f"{step.name}.scale", TensorProto.FLOAT, step.shape[:1]),
            self._elsewhere(f"{step.name}.zero", TensorProto.INT8, step.shape[:1]),
        ]
        bias = self._elsewhere(f"{step.name}.bias", TensorProto.INT32, step.shape[:1])
        target = ["one", "middle" if step.target in linear else "nothing", bias]
        self._node("QLinearConv", [step.source, "one", zero, *weights, *target], step.target, **self._shape(step))
        self.ranges[f"{step.name}.inputs"] = self.units[step.source]
        self.ranges[f"{step.name}.outputs"] = self.units[step.target]
        self.ranges[f"{step.name}.means"] = self.means[step.source].astype(np.float16)

    @staticmethod
    def _shape(step: Convolution) -> dict[str, Any]:
        sizes = {"strides": [step.stride] * 2, "pads": list(step.pads), "kernel_shape": list(step.shape[2:])}
        return {"group": step.group, **sizes}

    def _finish(self, linear: set[str]) -> None:
        names = {output.name for output in self.model.graph.output}
        for output, tensor in (("lower", self.layers.lower), ("map", self.layers.map)):
            if output in names:
                zero = "middle" if tensor in linear else "nothing"
                self._node("DequantizeLinear", [tensor, "one", zero], output + ".steps")
                self._node("Transpose", [output + ".steps"], output + ".turned", perm=[0, 2, 3, 1])
                unit = self._number(output + ".unit", self.units[tensor])
                self._node("Mul", [output + ".turned", unit], output)
        self._node("ReduceMean", ["map"], "pooled", axes=[1, 2], keepdims=0)
        if "classes" in names:
            dims = {tensor.name.removesuffix(HALF): tensor.dims for tensor in self.model.graph.initializer}
            weights = [
                self._elsewhere(f"classifier.{part}", TensorProto.FLOAT, dims[f"{MODEL}classifier.{part}"])
                for part in ("weight", "bias")
            ]
            self._node("Gemm", ["pooled", *weights], "classes", transB=1)

    def _node(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))

    def _number(self, name: str, array: Any) -> str:
        self.own[name] = numpy_helper.from_array(np.asarray(array), name)
        return name

    def _elsewhere(self, name: str, kind: int, shape: Sequence[int]) -> str:
        """An initialiser that is computed when the graph is opened."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=ELSEWHERE)
        self.own[name] = tensor
        return name
