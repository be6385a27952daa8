"""The network as one graph: pixels to the final map, the vector and ImageNet's classes."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.export.quantising import cosines, quantise
from seesay.export.tracing import OPSET, Graph, trace
from seesay.images.backbones import Backbone
from seesay.images.features import FeatureSpec
from seesay.images.io import open_image
from seesay.images.views import preprocess
from seesay.runtime.network import Network
from seesay.system.files import replace_atomically

LIMIT = 1e-3
"""The largest difference to torch that is let through: of sums of thousands of products the last digits differ."""


class _Network(nn.Module):
    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.network, self.head, self.classifier = backbone.network, backbone.head, backbone.classifier
        self.register_buffer("mean", torch.tensor(backbone.mean))
        self.register_buffer("std", torch.tensor(backbone.std))
        self.mean: Tensor
        self.std: Tensor

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        x = (pixels.float() - self.mean) / self.std
        feature_map = self.network(x.permute(0, 3, 1, 2))
        pooled = self.head(feature_map)
        found = (feature_map.permute(0, 2, 3, 1), pooled)
        return found if self.classifier is None else (*found, self.classifier(pooled))


def network_name(spec: FeatureSpec, precision: str) -> str:
    """The folder of a network, which differs wherever features would."""
    return spec.name if precision == "fp32" else f"{spec.name}-{precision}"


def export_network(
    spec: FeatureSpec, backbone: Backbone, out: Path, photos: Sequence[Path], precision: str = "fp32"
) -> dict[str, Any]:
    """Write the graph of a network into a folder of its own, named after what features depend on.

    Args:
        spec: Which features.
        backbone: The network in torch.
        out: The folder beside which weights lie.
        photos: To compare both engines on, and to fit an int8 network to.
        precision: `fp32` or `int8`.

    Returns:
        What network.json says.

    Raises:
        SeesayError: The graph and torch differ by more than `LIMIT`. An int8 network says by how much it differs.
    """
    folder = out / network_name(spec, precision)
    module = _Network(backbone).eval()
    outputs = ["map", "pooled", *(["classes"] if backbone.classifier is not None else [])]
    pixels = torch.zeros(2, backbone.size, backbone.size, 3, dtype=torch.uint8)
    free = dict.fromkeys(("pixels", *outputs), ("n",))
    written = trace(module, Graph("network", module.forward, {"pixels": pixels}, outputs, free))
    for node in written.graph.node:
        node.ClearField("doc_string")
    folder.mkdir(parents=True, exist_ok=True)
    views = [preprocess(open_image(photo), spec.size, spec.crop) for photo in photos]
    about: dict[str, Any] = {**spec.describe(), "opset": OPSET, "precision": precision}
    with replace_atomically(folder / "network.onnx") as temporary:
        temporary.write_bytes(written.SerializeToString())
        if precision == "int8":
            with tempfile.TemporaryDirectory() as scratch:
                rounded = Path(scratch) / "network.onnx"
                quantise(temporary, rounded, views)
                about["cosine"] = round(float(cosines(temporary, rounded, views).mean()), 4)
                temporary.write_bytes(rounded.read_bytes())
    about["bytes"] = (folder / "network.onnx").stat().st_size
    _write(folder, about)
    about["difference"] = _compare(Network(folder), backbone, np.concatenate(views))
    if precision == "fp32" and about["difference"] > LIMIT:
        (folder / "network.json").unlink()
        raise SeesayError(
            f"the graph of {spec.backbone} differs from torch by {about['difference']:.1e}", allowed=f"{LIMIT:.0e}"
        )
    _write(folder, about)
    return about


@torch.inference_mode()
def _compare(network: Network, backbone: Backbone, views: NDArray[np.uint8]) -> float:
    largest = 0.0
    for some in (views[:1], views):
        maps, vectors = backbone(torch.from_numpy(some))
        pairs = list(zip((maps, vectors), network.run(some)[:2], strict=True))
        classes = network.run(some)[2]
        if backbone.classifier is not None and classes is not None:
            pairs.append((backbone.classifier(vectors), classes))
        largest = max(largest, *(float(np.abs(wanted.numpy() - found).max()) for wanted, found in pairs))
    return largest


def _write(folder: Path, about: dict[str, Any]) -> None:
    with replace_atomically(folder / "network.json") as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
