"""A graph with fewer nodes: whatever does not depend on its inputs or its weights is computed once and for all.

Most nodes of a followed function work out shapes. ONNX Runtime would do away with them whenever it opens the graph,
which a single query would wait for.
"""

import tempfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper


def simplify(graph: onnx.ModelProto) -> None:
    """Let ONNX Runtime do what it does for any processor, and keep the result; weights stay where they are."""
    import onnxruntime

    body = graph.graph
    weights = [tensor for tensor in body.initializer if tensor.data_location == TensorProto.EXTERNAL]
    outside = onnx.ModelProto()
    outside.CopyFrom(graph)
    # As inputs, weights are not known yet: nothing that depends on them is computed.
    own = [tensor for tensor in body.initializer if tensor.data_location != TensorProto.EXTERNAL]
    del outside.graph.initializer[:]
    outside.graph.initializer.extend(own)
    outside.graph.input.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)) for tensor in weights
    )
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simple.onnx"
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(outside.SerializeToString(), options, providers=["CPUExecutionProvider"])
        simple = onnx.load(str(path))
    inputs = list(body.input)
    body.CopyFrom(simple.graph)
    del body.input[:]
    body.input.extend(inputs)
    used = _all_names(body)
    body.initializer.extend(tensor for tensor in weights if tensor.name in used)
    domains = {node.domain for node in body.node}
    kept = [each for each in simple.opset_import if each.domain in {"", *domains}]
    del graph.opset_import[:]
    graph.opset_import.extend(kept)


def _all_names(body: onnx.GraphProto) -> set[str]:
    """What is read anywhere in a graph, inside of its loops too, or given out."""
    found = {value.name for value in body.output}
    for node in body.node:
        found.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _all_names(attribute.g)
    return found
