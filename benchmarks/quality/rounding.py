"""What the network in 8 bits costs a library: recall on dev, by how much vectors turn, tags, and the time of a photo.

Each dev photo goes through the network that libraries are made with, in half precision and in 8 bits, in turns; of both
the eye makes vectors. Ranges were measured on training photos (`tools/make_ranges.py`). One thread, processor time.

    SEESAY_DATA=… python -m benchmarks.quality.rounding [--data flickr8k coco iapr] [--photos 1000] [--keep]
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.images.arrays import ImageFeatures
from seesay.images.io import open_image
from seesay.metrics.retrieval import retrieval_report
from seesay.runtime.matching import Model
from seesay.runtime.network import Network

Floats = NDArray[np.float32]
STAGE, FIRST = "dvsa", "eye"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["flickr8k", "coco", "iapr"])
    parser.add_argument("--photos", type=int, default=1000)
    parser.add_argument("--keep", action="store_true", help="keep the recorded rows of other collections")
    arguments = parse_arguments(parser, "rounding")
    eye, stage = Model(FIRST, threads=1), Model(STAGE, threads=1)
    whole = stage.network
    rounded = whole.in_precision("int8")
    if rounded is None:
        raise SystemExit(f"{whole.name} is not there in 8 bits: python tools/make_ranges.py")
    rows: list[dict[str, Any]] = []
    if arguments.keep and arguments.output.is_file():
        rows = [row for row in json.loads(arguments.output.read_text())["rows"] if row["data"] not in arguments.data]
    for name in arguments.data:
        rows.append(measure(name, arguments.photos, eye, stage, (whole, rounded)))
        print(rows[-1], flush=True)
        record(arguments, ("onnxruntime", "numpy", "pillow"), rows=rows)


def measure(name: str, n: int, eye: Model, stage: Model, networks: tuple[Network, Network]) -> dict[str, Any]:
    items = data.load(name).split("dev").with_images().items[:n]
    sentences = [sentence for item in items for sentence in item.sentences]
    owners = np.array([place for place, item in enumerate(items) for _ in item.sentences])
    texts = np.concatenate(
        [eye.encode_texts(sentences[start : start + 100]) for start in range(0, len(sentences), 100)]
    )
    seen: tuple[list[ImageFeatures], list[ImageFeatures]] = ([], [])
    views: tuple[list[Floats], list[Floats]] = ([], [])
    taken: tuple[list[float], list[float]] = ([], [])
    for item in items:
        assert item.image is not None
        image = open_image(item.image, at_least=networks[0].pixels)
        for network, found, times, kept in zip(networks, seen, taken, views, strict=True):
            start = time.thread_time()
            features = network.features([image], stage.schemes)
            times.append(time.thread_time() - start)
            kept.append(stage.view(features)[0])
            found.append(ImageFeatures(features.pooled, classes=features.classes))
    vectors = [eye.encode_pooled(np.concatenate([each.pooled for each in found]).astype(np.float32)) for found in seen]
    sums = [retrieval_report(each @ texts.T, owners)["sum"] for each in vectors]
    first, second = ([_best(each) for each in found] for found in seen)
    return {
        "data": name,
        "photos": len(items),
        "dev_sum_fp16": round(sums[0], 2),
        "dev_sum_int8": round(sums[1], 2),
        "loss": round(sums[0] - sums[1], 2),
        "cosine_of_vectors": _cosines(*vectors),
        "cosine_of_regions": _cosines(*(np.concatenate(kept) for kept in views)),
        "same_first_tag": round(float(np.mean([a == b for a, b in zip(first, second, strict=True)])), 3),
        "milliseconds_fp16": round(1000 * statistics.median(taken[0]), 1),
        "milliseconds_int8": round(1000 * statistics.median(taken[1]), 1),
        "times_as_fast": round(statistics.median(a / b for a, b in zip(*taken, strict=True)), 2),
    }


def _best(features: ImageFeatures) -> int:
    assert features.classes is not None
    return int(features.classes[0].argmax())


def _cosines(a: Floats, b: Floats) -> dict[str, float]:
    found: Sequence[float] = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return {"mean": round(float(np.mean(found)), 5), "least": round(float(np.min(found)), 5)}


if __name__ == "__main__":
    main()
