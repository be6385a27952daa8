"""A simpler graph gives the same, and its weights stay in their file."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from seesay.export.simplifying import simplify


def make_graph() -> onnx.ModelProto:
    """y = x · w + (2 · 3), with w in a file beside the graph, and an unused weight."""
    nodes = [
        helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.float32(2))),
        helper.make_node("Constant", [], ["three"], value=numpy_helper.from_array(np.float32(3))),
        helper.make_node("Mul", ["two", "three"], ["six"]),
        helper.make_node("Cast", ["w.half"], ["w"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "six"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy")
    graph = helper.make_graph(nodes, "toy", [x], [y])
    for number, name in enumerate(("w.half", "unused")):
        tensor = graph.initializer.add()
        tensor.name, tensor.data_type, tensor.data_location = name, TensorProto.FLOAT16, TensorProto.EXTERNAL
        tensor.dims.append(1)
        for key, value in (("location", "weights"), ("offset", 2 * number), ("length", 2)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_what_depends_on_no_weight_is_computed_once(tmp_path: Path) -> None:
    graph = make_graph()
    simplify(graph)
    assert [node.op_type for node in graph.graph.node] == ["Cast", "Mul", "Add"]
    external = [each.name for each in graph.graph.initializer if each.data_location == TensorProto.EXTERNAL]
    assert external == ["w.half"]
    assert [value.name for value in graph.graph.input] == ["x"]
    assert [(each.domain, each.version) for each in graph.opset_import] == [("", 17)]
    (tmp_path / "weights").write_bytes(np.array([10, 99], np.float16).tobytes())
    (tmp_path / "graph.onnx").write_bytes(graph.SerializeToString())
    session = onnxruntime.InferenceSession(str(tmp_path / "graph.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": np.float32([1, 2])})[0], [16, 26])
