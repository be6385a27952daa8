"""Measure what the network in 8 bits needs to know of photos, and write its folders into the package.

Ranges and means are those of photos that may be learned from: of Flickr8K, COCO and IAPR TC-12, evenly spaced in the
training part. `python -m benchmarks.quality.rounding` measures on dev photos what the rounding costs.

    SEESAY_DATA=… python tools/make_ranges.py [--photos 60]
"""

import argparse
import json
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

from seesay import data
from seesay.catalogue.weights import PACKAGED
from seesay.export.rounding import N_FLOAT, Rounding, measure
from seesay.images.io import open_image
from seesay.images.views import preprocess
from seesay.runtime.exact import INT8
from seesay.runtime.matching import Model
from seesay.runtime.network import HalvedNetwork
from seesay.runtime.rounded import RANGES
from seesay.system.digests import digest_file

COLLECTIONS = ("flickr8k", "coco", "iapr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, default=60, help="of each collection")
    arguments = parser.parse_args()
    both = Model("dvsa", threads=1).network
    assert isinstance(both, HalvedNetwork)
    lower = Model("eye", threads=1).network
    views = [view for name in COLLECTIONS for view in _views(name, arguments.photos, lower.size, lower.crop)]
    measured = {"collections": list(COLLECTIONS), "part": "train", "photos": len(views)}
    name = lower.name.removesuffix("-fp16")
    start = {key: lower.about[key] for key in ("backbone", "size", "crop", "weights", "digest", "opset")}
    about = {**start, "precision": INT8, "rounds": lower.folder.name, "measured": measured}
    write(onnx.load(str(lower.folder / "network.onnx")), [{"pixels": view} for view in views], name, about, N_FLOAT)
    eye = PACKAGED / str(both.about["upper"])
    start = {
        key: both.about[key] for key in ("backbone", "size", "crop", "weights", "digest", "opset", "upper", "both")
    }
    about = {**start, "precision": INT8, "lower": f"{name}-{INT8}", "measured": measured}
    given = [{"lower": lower.run(view)["lower"]} for view in views]
    write(onnx.load(str(eye / "upper.onnx")), given, both.name.removesuffix("-fp16"), about, 0)
    (PACKAGED / "exact.onnx").write_bytes(probe().SerializeToString())


def _views(name: str, n: int, size: int, crop: str) -> list[NDArray[np.uint8]]:
    images = data.load(name).split("train").with_images().images
    chosen = images[:: max(1, len(images) // n)][:n]
    return [preprocess(open_image(path, at_least=size), size, crop) for path in chosen]


def write(model: onnx.ModelProto, inputs: Any, name: str, about: dict[str, Any], n_float: int) -> None:
    """A folder with the graph, the table of ranges and network.json."""
    folder = PACKAGED / f"{name}-{INT8}"
    folder.mkdir(exist_ok=True)
    graph, ranges = Rounding(model, *measure(model, inputs), n_float=n_float).write()
    path = folder / ("upper.onnx" if "upper" in about else "network.onnx")
    path.write_bytes(graph.SerializeToString())
    save_file(ranges, str(folder / RANGES))
    floats = [
        tensor.name for tensor in graph.graph.initializer
        if tensor.data_location == TensorProto.EXTERNAL and tensor.data_type == TensorProto.FLOAT
        and not tensor.name.endswith(".scale")
    ]  # fmt: skip
    table = {**about, "float": floats, "graph": digest_file(path), "ranges": digest_file(folder / RANGES)}
    (folder / "network.json").write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    print(folder.name, {each.name: each.stat().st_size for each in sorted(folder.iterdir())})


def probe() -> onnx.ModelProto:
    """A graph that shows whether a processor adds products of 8 bits exactly (`seesay.runtime.exact.is_exact`)."""
    n, most = 64, 64 * 255 * 127
    numbers: dict[str, Any] = {
        "one": np.float32(1), "zero": np.uint8(0), "w": np.full((16, n, 1, 1), 127, np.int8),
        "w_zero": np.int8(0), "step": np.float32(most / 200),
    }  # fmt: skip
    inputs = ["x", "one", "zero", "w", "one", "w_zero", "step", "zero"]
    node = helper.make_node("QLinearConv", inputs, ["y"], kernel_shape=[1, 1])
    values = [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, n, 4, 4])]
    given = [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 16, 4, 4])]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in numbers.items()]
    graph = helper.make_graph([node], "exact", values, given, tensors)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


if __name__ == "__main__":
    main()
