"""Torch against graphs in ONNX Runtime, each on one thread: the network, a sentence, captions.

Both engines take turns: every round times every task with one, then with the other, which of them comes first changing
from round to round. A ratio is the median of the rounds' own ratios, of processor time and not of the clock's: on one
thread they are the same where nothing else runs, and where much else does they are not.
The graphs are exported first, into a folder that is thrown away, unless one is given.

    python -m benchmarks.speed.runtime [--graphs DIR] [--rounds 15]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.recording import parse_arguments, record
from seesay.captioning.beam import beam
from seesay.captioning.decoding import greedy
from seesay.engines import TorchModel
from seesay.export.exporting import SAMPLES, export_weights
from seesay.images.io import open_image
from seesay.models.pretrained import load, load_captioner
from seesay.runtime.matching import Model

SENTENCE = "two dogs are playing with a red ball in the snow"
REPEATS = {"network": 3, "sentence": 20, "caption, greedy": 5, "caption, beam 10": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=Path, help="exported vse and mrnn")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parse_arguments(parser, "runtime")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        graphs = arguments.graphs or Path(folder)
        for name in ("vse", "mrnn") if arguments.graphs is None else ():
            export_weights(name, graphs)
        tasks = make_tasks(graphs)
        rows = [measure(name, *engines, arguments.rounds) for name, engines in tasks.items()]
    record(arguments, ("torch", "onnxruntime"), threads=1, rounds=arguments.rounds, rows=rows)
    for row in rows:
        print(f"{row['task']}: {row['torch_ms']} ms, {row['runtime_ms']} ms, {row['ratio']} times as fast")


def make_tasks(graphs: Path) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """What is timed: task → with torch, with graphs; both give the same."""
    vse, own_vse = load("vse"), Model(graphs / "vse", threads=1)
    mrnn, own_mrnn = TorchModel(load_captioner("mrnn")), Model(graphs / "mrnn", threads=1)
    backbone = vse.feature_spec.load_backbone()
    size = vse.feature_spec.size
    pixels = np.asarray(open_image(SAMPLES / "cat.jpg").resize((size, size)))[None].copy()
    seen = mrnn.encode_images(mrnn.features([SAMPLES / "cat.jpg"]))

    @torch.inference_mode()
    def read() -> Any:
        return vse.encode_texts([SENTENCE])

    tasks: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "network": (lambda: backbone(torch.from_numpy(pixels)), lambda: own_vse.network.run(pixels)),
        "sentence": (read, lambda: own_vse.encode_texts([SENTENCE])),
        "caption, greedy": (
            lambda: greedy(mrnn, mrnn.start(seen)),
            lambda: greedy(own_mrnn, own_mrnn.start(seen)),
        ),
        "caption, beam 10": (
            lambda: beam(mrnn, mrnn.start(seen), width=10),
            lambda: beam(own_mrnn, own_mrnn.start(seen), width=10),
        ),
    }
    for name in ("caption, greedy", "caption, beam 10"):
        said, own = ([each.words for each in np.ravel(engine())] for engine in tasks[name])
        if said != own:
            raise SystemExit(f"{name}: the engines say different things")
    return tasks


def measure(name: str, with_torch: Callable[[], Any], with_graphs: Callable[[], Any], rounds: int) -> dict[str, Any]:
    """Milliseconds of both, medians over rounds, and the median of the rounds' ratios."""
    times: list[tuple[float, float]] = []
    for turn in range(rounds + 1):
        engines = [with_torch, with_graphs]
        order = (0, 1) if turn % 2 else (1, 0)
        own = [0.0, 0.0]
        for which in order:
            own[which] = min(processor_seconds(engines[which]) for _ in range(REPEATS[name]))
        times.append((own[0], own[1]))
    of_torch, of_graphs = zip(*times[1:], strict=True)  # the first round warms up
    ratios = sorted(a / b for a, b in times[1:])
    return {
        "task": name,
        "torch_ms": round(1e3 * statistics.median(of_torch), 2),
        "runtime_ms": round(1e3 * statistics.median(of_graphs), 2),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_quartiles": [round(float(np.quantile(ratios, q)), 2) for q in (0.25, 0.75)],
    }


def processor_seconds(act: Callable[[], Any]) -> float:
    """How long a core works on something."""
    start = time.process_time()
    act()
    return time.process_time() - start


if __name__ == "__main__":
    main()
