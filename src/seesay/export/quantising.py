"""A network in whole numbers of 8 bits: half the time and half the file, at a price that is recorded.

Weights are rounded channel by channel, after batch norms have become part of them, activations by the range that they
have on real photos. The first convolution, whose 32 channels see the pixels themselves, and the classifier stay as they
are; leaving out the depthwise convolutions, too, is slower and no better. Nothing is learned again after the rounding,
so vectors turn by some degrees. The network that ships is rounded in another way, which costs less
(`seesay.export.rounding`); this one takes any network.
"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from seesay.runtime.session import open_session

Pixels = NDArray[np.uint8]


class _Photos:
    """Views of photos, as ONNX Runtime wants to be given what ranges are measured on."""

    def __init__(self, views: Sequence[Pixels]) -> None:
        self._views: Iterator[Pixels] = iter(views)

    def get_next(self) -> dict[str, Pixels] | None:
        view = next(self._views, None)
        return None if view is None else {"pixels": view}


def quantise(source: Path, target: Path, views: Sequence[Pixels]) -> None:
    """Round a network's graph to 8 bits.

    Args:
        source: The graph in single precision.
        target: The file to write.
        views: Of photos, (n, H, W, 3) each, to measure the ranges of activations on.
    """
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = target.with_suffix(".prepared.onnx")
    logging.disable(logging.WARNING)
    try:
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)  # batch norms become part of kernels
        graph = onnx.load(prepared).graph
        first = next(node.name for node in graph.node if node.op_type == "Conv")
        quantize_static(
            str(prepared),
            str(target),
            _Photos(views),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Clip", "Add"],
            nodes_to_exclude=[first],
        )
    finally:
        prepared.unlink(missing_ok=True)
        logging.disable(logging.NOTSET)


def cosines(source: Path, target: Path, views: Sequence[Pixels]) -> NDArray[Any]:
    """How alike the vectors of photos are, by the graph and by the rounded one: (n,)."""
    whole, rounded = (open_session(path, 1) for path in (source, target))
    found = []
    for view in views:
        a, b = (session({"pixels": view})[1] for session in (whole, rounded))
        found.append((a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)))
    return np.concatenate(found)
