"""A network in ONNX Runtime, from torch and in memory: the same numbers to five digits, in half of torch's time.

Everything that runs a fixed network over many photos goes through here: features, and activations of a lower half.
"""

import io
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seesay.images.backbones import Backbone
from seesay.images.store import Array

Run = Callable[[NDArray[np.uint8]], list[Array]]
"""From pixels (n, H, W, 3) uint8 to what a module gives of them."""


class Normalised(nn.Module):
    """A part of a network with the network's normalisation of pixels before it."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.mean, self.std = torch.tensor(backbone.mean), torch.tensor(backbone.std)

    def normalise(self, pixels: Tensor) -> Tensor:
        """Pixels (n, H, W, 3) uint8 as (n, 3, H, W), as the network was trained on them."""
        return ((pixels.float() - self.mean) / self.std).permute(0, 3, 1, 2)


class _WholeNetwork(Normalised):
    """The map (n, h, w, C) and the vector (n, D) of pixels."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.network, self.head = backbone.network, backbone.head
        self.see = backbone.see

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        feature_map, vector = self.see(self.normalise(pixels))
        return feature_map.permute(0, 2, 3, 1), vector


def accelerate(module: nn.Module, size: int, outputs: Sequence[str]) -> Run:
    """A module that takes pixels, ready to run in ONNX Runtime; in torch where that or `onnx` is not installed.

    Args:
        module: From pixels (n, size, size, 3) uint8 to one tensor, or to several.
        size: Side of the square input.
        outputs: Names of what it gives.
    """
    module.eval()
    try:
        import onnx as _onnx  # noqa: F401 - torch's exporter needs it
        import onnxruntime
    except ImportError:
        return lambda pixels: _run_torch(module, pixels)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            module,
            (torch.zeros(1, size, size, 3, dtype=torch.uint8),),
            buffer,  # type: ignore[arg-type]  # its signature names paths only, its documentation buffers too
            input_names=["pixels"],
            output_names=list(outputs),
            dynamic_axes={name: {0: "n"} for name in ("pixels", *outputs)},
            dynamo=False,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # several threads each run the session on images of their own
    session = onnxruntime.InferenceSession(buffer.getvalue(), options, providers=["CPUExecutionProvider"])

    def run(pixels: NDArray[np.uint8]) -> list[Array]:
        result: list[Array] = session.run(None, {"pixels": pixels})
        return result

    return run


def accelerate_network(backbone: Backbone) -> Run:
    """A whole network: its map (n, h, w, C) and its vector (n, D)."""
    if backbone.graph is not None:
        return backbone.graph
    return accelerate(_WholeNetwork(backbone), backbone.size, ("map", "pooled"))


@torch.inference_mode()
def _run_torch(module: nn.Module, pixels: NDArray[np.uint8]) -> list[Array]:
    found = module(torch.from_numpy(pixels))
    return [tensor.numpy() for tensor in (found if isinstance(found, tuple) else (found,))]
