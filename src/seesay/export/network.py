"""The network as one graph: pixels to the final map, the vector and ImageNet's classes."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError
from seesay.export.quantising import cosines, quantise
from seesay.export.sharing import store_in_half
from seesay.export.tracing import OPSET, Graph, trace
from seesay.images.backbones import Backbone, find_network
from seesay.images.features import LOWER, Features, FeatureSpec
from seesay.images.halves import split_network
from seesay.images.io import open_image
from seesay.images.views import preprocess
from seesay.runtime.network import Network, open_network
from seesay.system.files import replace_atomically

LIMIT = 1e-3
"""The largest difference to torch that is let through: of sums of thousands of products the last digits differ."""
LEAST_COSINE = 0.9999
"""Of the vectors of a network whose weights are stored in half precision, with those in single precision."""


class _Network(nn.Module):
    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.lower, self.upper = _halves(backbone)
        self.head, self.classifier = backbone.head, backbone.classifier
        self.register_buffer("mean", torch.tensor(backbone.mean))
        self.register_buffer("std", torch.tensor(backbone.std))
        self.mean: Tensor
        self.std: Tensor

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        x = (pixels.float() - self.mean) / self.std
        lower = None if self.lower is None else self.lower(x.permute(0, 3, 1, 2))
        if lower is None:
            feature_map, pooled = self.backbone.see(x.permute(0, 3, 1, 2))
        else:
            feature_map = self.upper(lower)
            pooled = self.head(feature_map)
        classes = () if self.classifier is None else (self.classifier(pooled),)
        kept = () if lower is None else (lower.permute(0, 2, 3, 1),)
        return (feature_map.permute(0, 2, 3, 1), pooled, *classes, *kept)

    @property
    def outputs(self) -> list[str]:
        """What it gives, by name."""
        classes = ["classes"] if self.classifier is not None else []
        return ["map", "pooled", *classes, *(["lower"] if self.lower is not None else [])]


def _halves(backbone: Backbone) -> tuple[nn.Module | None, nn.Module]:
    """The halves of a network that can be cut in two, else nothing and the whole."""
    try:
        return split_network(backbone)
    except SeesayError:
        return None, backbone.network


def upper_graph(model: Any, features: Features, images: Tensor) -> list[Graph]:
    """The eye's own half, of which other models take the map and the vector: activations → both."""

    def see(lower: Tensor) -> tuple[Tensor, Tensor]:
        feature_map = model.feature_map(lower)
        return feature_map.permute(0, 2, 3, 1), feature_map.mean((2, 3))

    assert features.lower is not None
    free = dict.fromkeys((LOWER, "map", "pooled"), ("n",))
    return [Graph("upper", see, {LOWER: features.lower.float()}, ["map", "pooled"], free)]


def pooled_graph(model: Any, features: Features, images: Tensor) -> list[Graph]:
    """The eye's vectors of photos, and beside them those of ImageNet's network → what `images` gives."""
    pooled = torch.zeros(len(images), model.pooled_dim)
    free = dict.fromkeys(("pooled", "images"), ("n",))
    return [Graph("pooled", model.encode_pooled, {"pooled": pooled}, ["images"], free)]


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
        out: Where the folder is made.
        photos: To compare both engines on, and to fit an int8 network to.
        precision: `fp32`; `fp16` for weights in half precision, computed with in single precision; or `int8`.

    Returns:
        What network.json says.

    Raises:
        SeesayError: The graph and torch differ by more than `LIMIT`, or in half precision vectors turn by more than
            `LEAST_COSINE` allows. An int8 network says by how much it differs.
    """
    if find_network(spec.backbone).upper:
        return _export_halves(spec, backbone, out, photos, precision)
    folder = out / network_name(spec, precision)
    module = _Network(backbone).eval()
    pixels = torch.zeros(2, backbone.size, backbone.size, 3, dtype=torch.uint8)
    free = dict.fromkeys(("pixels", *module.outputs), ("n",))
    written = trace(module, Graph("network", module.forward, {"pixels": pixels}, module.outputs, free))
    for node in written.graph.node:
        node.ClearField("doc_string")
    folder.mkdir(parents=True, exist_ok=True)
    views = [preprocess(open_image(photo), spec.size, spec.crop) for photo in photos]
    about: dict[str, Any] = {**spec.describe(), "opset": OPSET, "precision": precision}
    with replace_atomically(folder / "network.onnx") as temporary:
        temporary.write_bytes(written.SerializeToString())
        if precision != "fp32":
            with tempfile.TemporaryDirectory() as scratch:
                rounded = Path(scratch) / "network.onnx"
                _round(written, temporary, rounded, views, precision)
                alike = cosines(temporary, rounded, views)
                about["cosine"] = {"mean": round(float(alike.mean()), 6), "least": round(float(alike.min()), 6)}
                temporary.write_bytes(rounded.read_bytes())
    about["bytes"] = (folder / "network.onnx").stat().st_size
    _write(folder, about)
    about["difference"] = _compare(open_network(folder), backbone, np.concatenate(views))
    if precision == "fp32" and about["difference"] > LIMIT:
        (folder / "network.json").unlink()
        raise SeesayError(
            f"the graph of {spec.backbone} differs from torch by {about['difference']:.1e}", allowed=f"{LIMIT:.0e}"
        )
    if precision == "fp16" and not about["cosine"]["least"] >= LEAST_COSINE:  # which no number is not, either
        (folder / "network.json").unlink()
        raise SeesayError(
            f"half precision turns a vector of {spec.backbone}: its cosine is {about['cosine']['least']}",
            allowed=f"at least {LEAST_COSINE}",
            hint="--precision fp32",
        )
    _write(folder, about)
    return about


def _export_halves(
    spec: FeatureSpec, backbone: Backbone, out: Path, photos: Sequence[Path], precision: str
) -> dict[str, Any]:
    """Write which graphs make up a network whose upper half is that of trained weights; it has none of its own."""
    network = find_network(spec.backbone)
    base = FeatureSpec(backbone=network.lower, size=spec.size, crop=spec.crop)
    lower = network_name(base, precision)
    if not any((place / lower / "network.json").is_file() for place in (out, PACKAGED)):
        export_network(base, base.load_backbone(), out, photos, precision)
    folder = out / network_name(spec, precision)
    folder.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {**spec.describe(), "opset": OPSET, "precision": precision}
    about |= {"lower": lower, "upper": network.upper, "both": network.both}
    _write(folder, about)
    views = np.concatenate([preprocess(open_image(photo), spec.size, spec.crop) for photo in photos])
    about["difference"] = _compare(open_network(folder), backbone, views)
    _write(folder, about)
    return about


def _round(
    graph: onnx.ModelProto, source: Path, target: Path, views: Sequence[NDArray[np.uint8]], precision: str
) -> None:
    if precision == "int8":
        quantise(source, target, views)
        return
    store_in_half(graph)
    target.write_bytes(graph.SerializeToString())


@torch.inference_mode()
def _compare(network: Network, backbone: Backbone, views: NDArray[np.uint8]) -> float:
    largest = 0.0
    for some in (views[:1], views):
        maps, vectors = backbone(torch.from_numpy(some))
        found = network.run(some)
        pairs = [(maps, found["map"]), (vectors, found["pooled"])]
        if backbone.classifier is not None:
            pairs.append((backbone.classifier(vectors), found["classes"]))
        for wanted, given in pairs:
            if not (np.isfinite(given).all() and wanted.isfinite().all()):
                raise SeesayError(f"the network {backbone.name} makes numbers of a photo that are not finite")
            largest = max(largest, float(np.abs(wanted.numpy() - given).max()))
    return largest


def _write(folder: Path, about: dict[str, Any]) -> None:
    with replace_atomically(folder / "network.json") as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
