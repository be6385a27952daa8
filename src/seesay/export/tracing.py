"""One function of a model as an ONNX graph with any batch size and any length.

torch's exporter follows one run of a function. Three things of that run must not end up in the graph: the number of
rows (`len` gives Python a plain number, and the graph a constant), the number of words (a Python loop is unrolled), and
the blocks that a function cuts its work into to spare memory. `following_sizes` and the stand-ins of
`seesay.export.stand_ins` take care of them. The TorchScript exporter is used because it writes a recurrent layer as the
one operator that it is; torch.export's writes out its steps.
"""

import io
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import onnx
import torch
from torch import Tensor, nn

from seesay.layers.packing import plain_state

OPSET = 17
"""The operator set of every graph: the oldest that has all that is needed."""


@dataclass(frozen=True)
class Graph:
    """A function that becomes a graph.

    Attributes:
        name: Of the graph's file.
        run: From tensors to tensors.
        inputs: By name, in the order in which `run` takes them. Examples only: their sizes leave no trace.
        outputs: Names of what `run` gives.
        free: Input or output → names of its first dimensions, None for one that is fixed.
        stand_ins: What is replaced while it is followed: the path of a function → its stand-in.
    """

    name: str
    run: Callable[..., Any]
    inputs: Mapping[str, Tensor]
    outputs: Sequence[str]
    free: Mapping[str, Sequence[str | None]]
    stand_ins: Mapping[str, Any] = field(default_factory=dict)


class _Function(nn.Module):
    """A function as the module that torch's exporter wants; the model's tensors keep their names behind `model.`"""

    def __init__(self, model: nn.Module, run: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model
        self.run = run

    def forward(self, *inputs: Tensor) -> Any:
        return self.run(*inputs)


def trace(model: nn.Module, graph: Graph) -> onnx.ModelProto:
    """Follow a function of a model once; the graph's initialisers are the model's tensors as they are."""
    written = io.BytesIO()
    axes = {
        name: {place: free for place, free in enumerate(names) if free is not None}
        for name, names in graph.free.items()
    }
    with ExitStack() as replaced, warnings.catch_warnings(), torch.no_grad(), plain_state():
        warnings.simplefilter("ignore")
        for path, stand_in in graph.stand_ins.items():
            replaced.enter_context(patch(path, stand_in))
        replaced.enter_context(following_sizes())
        torch.onnx.export(
            _Function(model, graph.run).eval(),
            tuple(graph.inputs.values()),
            written,  # type: ignore[arg-type]  # the TorchScript exporter writes to open files, too
            dynamo=False,
            # Folded constants would be copies of the weights.
            do_constant_folding=False,
            opset_version=OPSET,
            input_names=list(graph.inputs),
            output_names=list(graph.outputs),
            dynamic_axes=axes,
        )
    return onnx.load_from_string(written.getvalue())


@contextmanager
def following_sizes() -> Iterator[None]:
    """Let `len` of a tensor, inside of models, layers and excitation, be a size that the graph computes."""

    def size(thing: Any) -> Any:
        return thing.shape[0] if isinstance(thing, Tensor) else type(thing).__len__(thing)

    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("seesay.models.", "seesay.layers.", "seesay.excitation.")) and "len" not in vars(module)
    ]
    with ExitStack() as replaced:
        for module in modules:
            replaced.enter_context(patch.object(module, "len", size, create=True))
        yield
