"""A box finder as an ONNX graph, with which it is used."""

import io
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from seesay.errors import SeesayError
from seesay.runtime.folder import OPSETS
from seesay.runtime.session import open_session
from seesay.training.boxes.network import BoxFinder

INPUTS, OUTPUTS = ("cells", "vectors"), ("points", "boxes", "scores", "presence")
LIMIT = 1e-3
"""The largest difference between torch and the graph that is let through."""
LARGE = 1000
"""Tensors of so many numbers lie in the file in half precision."""


def graph_of(finder: BoxFinder) -> bytes:
    """The file of a graph for any number of phrases, checked to give the same as the finder.

    Large tensors are kept in half precision. The finder is rounded likewise: both compute with the same numbers.

    Raises:
        SeesayError: It does not.
    """
    with torch.no_grad():
        for weights in finder.parameters():
            if weights.numel() >= LARGE:
                weights.copy_(weights.half().float())
    dim, side = len(finder.common), finder.sizes.side
    given = _example(dim, side, 3)
    written = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            finder.eval(), given, written, dynamo=False, opset_version=OPSETS[-1],  # type: ignore[arg-type]
            input_names=list(INPUTS), output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "n"} for name in ("vectors", *OUTPUTS)},
        )  # fmt: skip
    graph = made_small(written.getvalue())
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "boxes.onnx"
        path.write_bytes(graph)
        _check(finder, path)
    return graph


def made_small(graph: bytes) -> bytes:
    """The same graph with large tensors in half precision and short names for all that happens inside of it."""
    model = onnx.load_from_string(graph)
    _keep_in_half(model.graph)
    own = {value.name for value in (*model.graph.input, *model.graph.output)}
    names = {"": ""} | {name: name for name in own}
    for node in model.graph.node:
        node.ClearField("name")
        for values in (node.input, node.output):
            values[:] = [names.setdefault(name, f"v{len(names)}") for name in values]
    for tensor in model.graph.initializer:
        tensor.name = names[tensor.name]
    return bytes(model.SerializeToString())


def _keep_in_half(graph: onnx.GraphProto) -> None:
    """Write large tensors in half precision, and cast them where they are used."""
    casts = []
    for node in [node for node in graph.node if node.op_type == "Constant"]:
        tensor = node.attribute[0].t
        if tensor.data_type == TensorProto.FLOAT and np.prod(tensor.dims) >= LARGE:
            graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(tensor), node.output[0]))
            graph.node.remove(node)
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and np.prod(tensor.dims) >= LARGE:
            name = tensor.name
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), f"{name}.half"))
            casts.append(helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT))
    for cast in reversed(casts):
        graph.node.insert(0, cast)


def _example(dim: int, side: int, n: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(n)
    return tuple(torch.from_numpy(rng.normal(0, 0.05, shape).astype(np.float32))
                 for shape in ((dim, side, side), (n, dim)))  # type: ignore[return-value]  # fmt: skip


@torch.no_grad()
def _check(finder: BoxFinder, path: Path) -> None:
    session = open_session(path, 1)
    for n in (1, 5):
        given = _example(len(finder.common), finder.sizes.side, n)
        found = session(dict(zip(INPUTS, (each.numpy() for each in given), strict=True)))
        for name, torch_side, graph_side in zip(OUTPUTS, finder(*given), found, strict=True):
            difference = float(np.abs(torch_side.numpy() - graph_side).max())
            if torch_side.shape != graph_side.shape or not difference <= LIMIT:
                raise SeesayError(f"the graph of boxes differs from torch by {difference:.1e} in {name}")
