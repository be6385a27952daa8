"""What decoding at reduced scale costs and brings: a JPEG at 1/2, 1/4 or 1/8 of its size, as indexing opens photos.

No collection at hand has photos of the size that cameras write: where the network sees 300 pixels, their own files are
decoded whole. So dev photos are enlarged (bicubic, JPEG of quality 90) to what a phone or a camera writes. An enlarged
photo has no fine detail, which is what a reduced scale could get wrong: in some rows noise of one pixel is added. Each
photo goes through the network in 8 bits twice, decoded whole and decoded as indexing does. One thread, processor time.

    SEESAY_DATA=… python -m benchmarks.quality.reduced [--data flickr8k] [--photos 250] [--images DIR]
"""

import argparse
import statistics
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.images.io import open_image
from seesay.metrics.retrieval import retrieval_report
from seesay.runtime.matching import Model

Floats = NDArray[np.float32]
ROWS = ((2048, 0.0), (2048, 10.0), (4032, 0.0), (4032, 10.0))
"""The longer side, and the standard deviation of the noise, of 255."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--photos", type=int, default=250)
    parser.add_argument("--images", type=Path, help="a folder with the same photos in more pixels")
    arguments = parse_arguments(parser, "reduced")
    eye = Model("eye", threads=1)
    network = Model("dvsa", threads=1).network.in_precision("int8")
    if network is None:
        raise SystemExit("the network is not there in 8 bits")
    items = data.load(arguments.data).split("dev").with_images().items[: arguments.photos]
    sentences = [sentence for item in items for sentence in item.sentences]
    owners = np.array([place for place, item in enumerate(items) for _ in item.sentences])
    texts = np.concatenate([eye.encode_texts(sentences[at : at + 100]) for at in range(0, len(sentences), 100)])
    rows: list[dict[str, Any]] = []
    for side, noise in ROWS:
        random = np.random.default_rng(0)
        pooled: tuple[list[Floats], list[Floats]] = ([], [])
        taken: tuple[list[float], list[float]] = ([], [])
        sizes = []
        for item in items:
            assert item.image is not None
            path = arguments.images / Path(item.image).name if arguments.images else item.image
            file = enlarge(open_image(path), side, noise, random)
            for at_least, found, times in zip((None, network.pixels), pooled, taken, strict=True):
                start = time.thread_time()
                image = open_image(file, at_least=at_least)
                times.append(time.thread_time() - start)
                found.append(np.asarray(network.features([image], ()).pooled, np.float32))
            sizes.append(max(image.size))
        vectors = [eye.encode_pooled(np.concatenate(found)) for found in pooled]
        sums = [retrieval_report(each @ texts.T, owners)["sum"] for each in vectors]
        cosines = (
            (vectors[0] * vectors[1]).sum(1) / np.linalg.norm(vectors[0], axis=1) / np.linalg.norm(vectors[1], axis=1)
        )
        rows.append({
            "longer_side": side,
            "noise": noise,
            "decoded_side": int(statistics.median(sizes)),
            "dev_sum_whole": round(sums[0], 2),
            "dev_sum_reduced": round(sums[1], 2),
            "loss": round(sums[0] - sums[1], 2),
            "cosine_of_vectors": {"mean": round(float(cosines.mean()), 5), "least": round(float(cosines.min()), 5)},
            "milliseconds_whole": round(1000 * statistics.median(taken[0]), 1),
            "milliseconds_reduced": round(1000 * statistics.median(taken[1]), 1),
            "times_as_fast": round(statistics.median(a / b for a, b in zip(*taken, strict=True)), 2),
        })  # fmt: skip
        print(rows[-1], flush=True)
        record(arguments, ("onnxruntime", "numpy", "pillow"), data=arguments.data, photos=len(items), rows=rows)


def enlarge(image: Image.Image, side: int, noise: float, random: np.random.Generator) -> bytes:
    """A photo as a camera would have written it, so far as that can be had."""
    scale = side / max(image.size)
    large = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
    if noise:
        grain = random.normal(0.0, noise, (large.height, large.width, 1)).astype(np.float32)
        large = Image.fromarray(np.clip(np.asarray(large, np.float32) + grain, 0, 255).astype(np.uint8))
    file = BytesIO()
    large.save(file, "JPEG", quality=90)
    return file.getvalue()


if __name__ == "__main__":
    main()
