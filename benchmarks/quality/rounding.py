"""What 8 bits cost the network: recall on dev, by how much vectors turn, and the time of a photo.

The network that the eye and `vse` share is rounded by the ranges that activations have on training photos, in several
ways (`seesay.export.quantising` has the one that is kept). Each is measured on dev photos of Flickr8K by the vectors of
the eye, one thread, processor time; the eye's own half and the sentences stay as they are.

    SEESAY_DATA=… python -m benchmarks.quality.rounding [--photos 1000] [--calibrate 100]
"""

import argparse
import logging
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.export.network import export_network
from seesay.export.quantising import _Photos, quantise
from seesay.images.arrays import ImageFeatures
from seesay.images.io import open_image
from seesay.images.views import preprocess
from seesay.metrics.retrieval import retrieval_report
from seesay.models.pretrained import load
from seesay.runtime.folder import open_session
from seesay.runtime.matching import Model

Floats = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, default=1000)
    parser.add_argument("--calibrate", type=int, default=100)
    arguments = parse_arguments(parser, "rounding")
    whole = data.load("flickr8k")
    dev, train = whole.split("dev").with_images(), whole.split("train").with_images()
    n_each = len(dev.sentences) // len(dev.images)
    eye = Model("eye", threads=1)
    texts = eye.encode_texts(list(dev.sentences[: arguments.photos * n_each]))
    owners = np.repeat(np.arange(min(arguments.photos, len(dev.images))), n_each)
    views = [_view(path) for path in dev.images[: arguments.photos]]
    calibrate = [_view(path) for path in train.images[:: max(1, len(train.images) // arguments.calibrate)]]
    calibrate = calibrate[: arguments.calibrate]
    spec = load("vse").feature_spec
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        export_network(spec, spec.load_backbone(), Path(folder), list(dev.images[:2]), "fp32")
        (source,) = Path(folder).glob("*/network.onnx")
        few, kept = Path(folder) / "few.onnx", Path(folder) / "kept.onnx"
        quantise(source, few, calibrate[:8])
        quantise(source, kept, calibrate)
        ways = {"fp32": source, "int8, 8 photos": few, f"int8, {len(calibrate)} photos": kept}
        ways["int8, without depthwise, first and last"] = _without_depthwise(source, Path(folder), calibrate)
        first: tuple[Floats, Floats] | None = None
        for name, path in ways.items():
            pooled, vectors, taken = _see(eye, path, views)
            first = first or (pooled, vectors)
            report = retrieval_report(vectors @ texts.T, owners)
            rows.append(
                {
                    "network": name,
                    "dev_sum": round(report["sum"], 2),
                    "milliseconds": round(1000 * taken, 1),
                    "cosine_of_pooled": round(float(_cosines(first[0], pooled).mean()), 4),
                    "cosine_of_vectors": round(float(_cosines(first[1], vectors).mean()), 4),
                    "megabytes": round(path.stat().st_size / 1e6, 1),
                }
            )
            print(rows[-1], flush=True)
    record(arguments, ("onnxruntime", "onnx"), n_photos=len(views), n_calibrate=len(calibrate), rows=rows)


def _view(path: Any) -> NDArray[np.uint8]:
    return preprocess(open_image(path, at_least=300), 300, "squash")


def _see(eye: Model, path: Path, views: list[NDArray[np.uint8]]) -> tuple[Floats, Floats, float]:
    """The network's vectors, the eye's, and the median time of a photo."""
    session = open_session(path, 1)
    pooled, lower, taken = [], [], []
    for view in views:
        start = time.thread_time()
        found = dict(zip(session.outputs, session({"pixels": view}), strict=True))
        taken.append(time.thread_time() - start)
        pooled.append(found["pooled"])
        lower.append(found["lower"].astype(np.float16))
    parts = [
        eye.encode_images(ImageFeatures(one, lower=other.astype(np.float32)))
        for one, other in zip(pooled, lower, strict=True)
    ]
    return np.concatenate(pooled), np.concatenate(parts), statistics.median(taken)


def _cosines(a: Floats, b: Floats) -> Floats:
    found: Floats = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return found


def _without_depthwise(source: Path, folder: Path, views: list[NDArray[np.uint8]]) -> Path:
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    target = folder / "without.onnx"
    convolutions = [node for node in onnx.load(source).graph.node if node.op_type == "Conv"]
    depthwise = [
        node.name
        for node in convolutions
        if any(attribute.name == "group" and attribute.i > 1 for attribute in node.attribute)
    ]
    logging.disable(logging.WARNING)
    quantize_static(
        str(source), str(target), _Photos(views), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, op_types_to_quantize=["Conv", "Clip", "Add"],
        nodes_to_exclude=[convolutions[0].name, convolutions[-1].name, *depthwise],
    )  # fmt: skip
    logging.disable(logging.NOTSET)
    return target


if __name__ == "__main__":
    main()
