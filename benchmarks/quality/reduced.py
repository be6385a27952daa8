"""What decoding at reduced scale costs and brings: a JPEG at 1/2, 1/4 or 1/8 of its size, as indexing opens photos.

No collection at hand has photos of the size that cameras write: where the network sees 300 pixels, their own files are
decoded whole. So dev photos are enlarged (bicubic, JPEG of quality 90) to what a phone or a camera writes. An enlarged
photo has no fine detail, which is what a reduced scale could get wrong: in some rows noise of one pixel is added. Each
photo goes through the network in 8 bits decoded whole, at the smallest scale that has the side that the network sees,
and at the smallest that has twice that side. One thread, processor time; the interval of a loss is by bootstrap over
photos.

    SEESAY_DATA=… python -m benchmarks.quality.reduced [--data flickr8k] [--photos 250] [--skip 150] [--images DIR]
        [--row 4032:10 …]
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
from seesay.metrics.bootstrap import estimate
from seesay.metrics.retrieval import ranks
from seesay.runtime.matching import Model

Floats = NDArray[np.float32]
ROWS = ("2048:0", "2048:10", "4032:0", "4032:10")
"""The longer side, and the standard deviation of the noise, of 255."""
SIDES = (None, 1, 2)
"""How often the side that the network sees the decoded image has at the least; None decodes it whole."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--photos", type=int, default=250)
    parser.add_argument("--skip", type=int, default=0, help="photos that are left out before them")
    parser.add_argument("--images", type=Path, help="a folder with the same photos in more pixels")
    parser.add_argument("--row", action="append", help="SIDE:NOISE, of which there may be several")
    arguments = parse_arguments(parser, "reduced")
    eye = Model("eye", threads=1)
    network = Model("dvsa", threads=1).network.in_precision("int8")
    if network is None:
        raise SystemExit("the network is not there in 8 bits")
    items = data.load(arguments.data).split("dev").with_images().items
    items = items[arguments.skip : arguments.skip + arguments.photos]
    sentences = [sentence for item in items for sentence in item.sentences]
    owners = np.array([place for place, item in enumerate(items) for _ in item.sentences])
    texts = np.concatenate([eye.encode_texts(sentences[at : at + 100]) for at in range(0, len(sentences), 100)])
    rows: list[dict[str, Any]] = []
    for side, noise in (map(float, row.split(":")) for row in arguments.row or ROWS):
        random = np.random.default_rng(0)
        pooled: list[list[Floats]] = [[] for _ in SIDES]
        taken: list[list[float]] = [[] for _ in SIDES]
        sizes: list[list[int]] = [[] for _ in SIDES]
        for item in items:
            assert item.image is not None
            path = arguments.images / Path(item.image).name if arguments.images else item.image
            file = enlarge(open_image(path), int(side), noise, random)
            for times, found, spent, decoded in zip(SIDES, pooled, taken, sizes, strict=True):
                start = time.thread_time()
                image = open_image(file, at_least=times and times * network.size)
                spent.append(time.thread_time() - start)
                decoded.append(max(image.size))
                found.append(np.asarray(network.features([image], ()).pooled, np.float32))
        vectors = [np.concatenate(found) for found in pooled]
        recalls = [recall_of_each(eye.encode_pooled(each) @ texts.T, owners) for each in vectors]
        ways = []
        for place, times in enumerate(SIDES):
            loss = estimate(recalls[0] - recalls[place], np.arange(len(items)))
            cosines = (vectors[0] * vectors[place]).sum(1)
            cosines /= np.linalg.norm(vectors[0], axis=1) * np.linalg.norm(vectors[place], axis=1)
            ways.append({
                "sides": times,
                "decoded_side": int(statistics.median(sizes[place])),
                "dev_sum": round(float(recalls[place].mean()), 2),
                "loss": {"mean": loss.mean, "low": loss.low, "high": loss.high},
                "cosine_of_vectors": {"mean": round(float(cosines.mean()), 5), "least": round(float(cosines.min()), 5)},
                "milliseconds": round(1000 * statistics.median(taken[place]), 1),
            })  # fmt: skip
        rows.append({"longer_side": int(side), "noise": noise, "ways": ways})
        print(rows[-1], flush=True)
        record(arguments, ("onnxruntime", "numpy", "pillow"), data=arguments.data, photos=len(items),
               skipped=arguments.skip, rows=rows)  # fmt: skip


def recall_of_each(scores: Floats, owners: NDArray[np.int64]) -> NDArray[np.float64]:
    """What each photo gives to the sum of the six recalls: their mean is the Sum where all have as many sentences."""
    found = ranks(scores, owners)
    cuts = np.array([1, 5, 10])
    of_photo = (found.i2t[:, None] < cuts).sum(1)
    of_text = (found.t2i[:, None] < cuts).sum(1)
    return 100.0 * (of_photo + np.bincount(owners, of_text) / np.bincount(owners))


def enlarge(image: Image.Image, side: int, noise: float, random: np.random.Generator) -> bytes:
    """A photo as a camera would have written it, so far as that can be had."""
    scale = side / max(image.size)
    large = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
    if noise:
        grain = np.float32(noise) * random.standard_normal((large.height, large.width, 1), np.float32)
        large = Image.fromarray(np.clip(np.asarray(large, np.float32) + grain, 0, 255).astype(np.uint8))
    file = BytesIO()
    large.save(file, "JPEG", quality=90)
    return file.getvalue()


if __name__ == "__main__":
    main()
