"""Which backbone and resolution to take: dev recall of a small probe against images per second.

The probe is the joint embedding with a mean-of-words encoder (`recipes/vse-probe.toml`), trained on the same Flickr8K
training pictures for every row. Speeds are interleaved: every round times every row, and the median of the rounds is
reported, as a ratio to the first row.

    SEESAY_DATA=… python -m benchmarks.ablations.backbones [--train-images 2000]
"""

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data.examples import Examples
from seesay.images.extraction import features_of
from seesay.images.features import FeatureSpec
from seesay.models.registry import family_class
from seesay.system.tables import read_table
from seesay.text.vocabulary import Vocabulary
from seesay.training.loop import train
from seesay.training.ranking import RankingTask
from seesay.training.recipe import read_recipe

ROWS = (
    FeatureSpec("efficientnet-lite0"),
    FeatureSpec("efficientnet-lite1"),
    FeatureSpec("efficientnet-lite2"),
    FeatureSpec("efficientnet-lite2", size=300),
    FeatureSpec("efficientnet-lite2", crop="ten-crop"),
)
VIEWS = {"squash": 1, "ten-crop": 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train-images", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parse_arguments(parser, "backbones")
    speeds = measure_speeds(arguments.rounds)
    rows = []
    for spec, speed in zip(ROWS, speeds, strict=True):
        reports = [probe(spec, arguments.train_images, seed) for seed in range(1, arguments.seeds + 1)]
        row = {
            "backbone": spec.backbone,
            "size": spec.size,
            "crop": spec.crop,
            "dev_sum": round(statistics.mean(report["sum"] for report in reports), 1),
            "dev_i2t_r10": round(statistics.mean(report["i2t"]["r10"] for report in reports), 1),
            "dev_t2i_r10": round(statistics.mean(report["t2i"]["r10"] for report in reports), 1),
            "images_per_second": round(speed, 1),
            "relative_speed": round(speed / speeds[0], 2),
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
    record(
        arguments,
        ("torch", "efficientnet-lite-pytorch"),
        data="flickr8k dev",
        train_images=arguments.train_images,
        seeds=arguments.seeds,
        threads=torch.get_num_threads(),
        rows=rows,
    )
    print("\n| backbone | px | crop | dev Sum | R@10 sentences | R@10 pictures | images/s | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")


def measure_speeds(rounds: int) -> list[float]:
    """Pictures per second of each row's network, pixels given, in batches of four."""
    times: list[list[float]] = [[] for _ in ROWS]
    backbones = [spec.load_backbone() for spec in ROWS]
    for _ in range(rounds):
        for place, (spec, backbone) in enumerate(zip(ROWS, backbones, strict=True)):
            pixels = torch.randint(0, 255, (4, spec.size, spec.size, 3), dtype=torch.uint8)
            backbone(pixels)
            start = time.perf_counter()
            for _ in range(4):
                backbone(pixels)
            times[place].append((time.perf_counter() - start) / 16)
    return [1 / (VIEWS[spec.crop] * statistics.median(own)) for spec, own in zip(ROWS, times, strict=True)]


def probe(spec: FeatureSpec, n_train: int, seed: int) -> dict:
    """Train the probe on the first `n_train` training pictures and measure it on dev."""
    recipe = replace(read_recipe(Path(__file__).parents[2] / "recipes/vse-probe.toml"), seed=seed)
    flickr8k = data.load("flickr8k")
    sources = []
    for split, limit in (("train", n_train), ("dev", None)):
        part = flickr8k.split(split)
        part = replace(part, items=part.items[:limit])
        sources.append(Examples.of(part, features_of(part.images, spec)))
    kind = family_class(recipe.model)
    torch.manual_seed(seed)
    vocabulary = Vocabulary.build(sources[0].sentences, recipe.data.min_count)
    model = kind(read_table(kind.config_type, recipe.config, "recipe"), vocabulary, spec)
    model.initialise(seed)
    with tempfile.TemporaryDirectory() as folder:
        task = RankingTask(model, sources[:1], sources[1], recipe)
        train(task, recipe, Path(folder))
    return task.measure(model)


if __name__ == "__main__":
    main()
