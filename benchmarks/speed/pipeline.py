"""What decoding and storing cost: whole-pipeline throughput against the network's own, on the same cores.

Both sides use one worker thread per core. The network alone runs on pixels that lie ready in memory; the pipeline
reads JPEG files, decodes, resizes, runs the network and writes the store. Rounds are interleaved.

    SEESAY_DATA=… python -m benchmarks.speed.pipeline [--images 384] [--rounds 5]
"""

import argparse
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.images.batches import BATCH
from seesay.images.extraction import FeatureStore, extract
from seesay.images.features import FeatureSpec, preprocess
from seesay.images.io import open_image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parse_arguments(parser, "pipeline")
    spec = FeatureSpec()
    paths = data.load("flickr8k").split("test").images[: arguments.images]
    workers = len(os.sched_getaffinity(0))
    pixels = [torch.from_numpy(preprocess(open_image(path), spec.size, spec.crop)) for path in paths]
    batches = [torch.cat(pixels[start : start + BATCH]) for start in range(0, len(pixels), BATCH)]
    backbone = spec.load_backbone()
    network, pipeline = [], []
    for _ in range(arguments.rounds):
        with ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(1)) as pool:
            start = time.perf_counter()
            list(pool.map(backbone, batches))
            network.append(len(paths) / (time.perf_counter() - start))
        with tempfile.TemporaryDirectory() as folder:
            store = FeatureStore(spec, root=Path(folder), outputs=("pooled",))
            start = time.perf_counter()
            done = extract(paths, store, workers=workers)
            pipeline.append(len(paths) / (time.perf_counter() - start))
            assert done.n_computed == len(paths), done.failures
        print(f"network {network[-1]:.1f}/s, pipeline {pipeline[-1]:.1f}/s, ratio {pipeline[-1] / network[-1]:.3f}")
    ratio = float(np.median(np.array(pipeline) / np.array(network)))
    record(
        arguments,
        ("torch", "pillow"),
        data=f"{len(paths)} JPEG files of flickr8k test",
        backbone=spec.name,
        workers=workers,
        rounds=arguments.rounds,
        network_images_per_second=round(statistics.median(network), 1),
        pipeline_images_per_second=round(statistics.median(pipeline), 1),
        median_ratio=round(ratio, 3),
    )


if __name__ == "__main__":
    main()
