"""seesay beside rclip 3.3.0 on one machine: indexing a folder as typed, a cold query, memory.

Both index the same 120 photos of 2048 × 1536 pixels by the command that a person types, into an empty library, and then
answer a query without looking for new photos. They take turns; a ratio is the median of the rounds' own ratios, of the
time that passes and of the time that processors worked, which other work on the machine disturbs less.

rclip's weights cannot be downloaded here. A stand-in has their architecture (CLIP ViT-B/32 at 256 pixels, a text
transformer of 12 layers over 49,408 subwords) with random numbers, in single precision and in rclip's own place and
format: it costs the same and finds nothing. seesay's bytecode is written before the first round, as pip writes that of
what it installs. rclip itself is installed once into an environment outside of this folder:

    python -m venv RCLIP && RCLIP/bin/pip install rclip==3.3.0
    SEESAY_DATA=… python -m benchmarks.speed.rclip --rclip RCLIP/bin/rclip [--rounds 5] [--photos 120]
"""

import argparse
import gzip
import itertools
import shutil
import statistics
import string
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from benchmarks.recording import parse_arguments, record
from benchmarks.speed.commands import Run, measured
from seesay import data

QUERY = "two dogs play in the snow"
FOLDER = "ViT-B-32-256-datacomp_s34b_b86k"
WIDTH, HEIGHT = 2048, 1536


class Vision(nn.Module):
    """ViT-B/32 of CLIP at 256 pixels."""

    def __init__(self, dim: int = 768, heads: int = 12, layers: int = 12, size: int = 256) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 32, 32, bias=False)
        self.first = nn.Parameter(torch.randn(1, 1, dim) / 28)
        self.places = nn.Parameter(torch.randn(1, (size // 32) ** 2 + 1, dim) / 28)
        self.before, self.after = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.layers = _layers(dim, heads, layers)
        self.project = nn.Linear(dim, 512, bias=False)

    def forward(self, pixels: Tensor) -> Tensor:
        cells = self.patches(pixels).flatten(2).transpose(1, 2)
        rows = torch.cat([self.first.expand(pixels.shape[0], -1, -1), cells], 1) + self.places
        found: Tensor = self.project(self.after(self.layers(self.before(rows))[:, 0]))
        return found


class Text(nn.Module):
    """The text transformer of CLIP ViT-B/32."""

    def __init__(self, dim: int = 512, heads: int = 8, layers: int = 12, words: int = 49_408, length: int = 77) -> None:
        super().__init__()
        self.words = nn.Embedding(words, dim)
        self.places = nn.Parameter(torch.randn(length, dim) / 100)
        self.layers, self.after = _layers(dim, heads, layers), nn.LayerNorm(dim)
        self.project = nn.Linear(dim, 512, bias=False)
        self.register_buffer("mask", torch.full((length, length), float("-inf")).triu(1))

    def forward(self, tokens: Tensor) -> Tensor:
        rows = self.after(self.layers(self.words(tokens) + self.places, mask=self.mask))
        last = rows[torch.arange(rows.shape[0]), tokens.argmax(-1)]
        found: Tensor = self.project(last)
        return found


def _layers(dim: int, heads: int, n: int) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, 0.0, "gelu", batch_first=True, norm_first=True)
    layers = nn.TransformerEncoder(layer, n, enable_nested_tensor=False)
    for parameter in layers.parameters():  # torch makes copies of one layer, which a graph's file would hold once
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter)
    return layers


def make_stand_in(place: Path) -> None:
    """Files where rclip keeps its own."""
    torch.manual_seed(0)
    (place / FOLDER).mkdir(parents=True)
    (place / "tokenizer").mkdir()
    examples = {
        "visual": (Vision(), torch.zeros(2, 3, 256, 256)),
        "textual": (Text(), torch.ones(2, 77, dtype=torch.int64)),
    }
    for name, (model, example) in examples.items():
        torch.backends.mha.set_fastpath_enabled(False)  # which cannot be exported
        path = place / FOLDER / f"{name}.onnx"
        torch.onnx.export(
            model.eval(), (example,), str(path), dynamo=False, opset_version=17,
            input_names=["input"], output_names=["output"], dynamic_axes={"input": {0: "n"}, "output": {0: "n"}},
        )  # fmt: skip
        wanted = 4 * sum(parameter.numel() for parameter in model.parameters() if parameter.ndim > 1)
        if path.stat().st_size < wanted:
            raise SystemExit(f"{path.name} has {path.stat().st_size} bytes, its weights {wanted}: it would cost less")
    letters = itertools.product(string.ascii_lowercase, repeat=4)
    merges = ("".join(four[:2]) + " " + "".join(four[2:]) for four in letters)
    lines = ["#version: 0.2", *itertools.islice(merges, 49_152 - 256 - 2)]
    with gzip.open(place / "tokenizer" / "bpe_simple_vocab_16e6.txt.gz", "wt") as file:
        file.write("\n".join([*lines, ""]))


def make_photos(folder: Path, n: int) -> None:
    folder.mkdir()
    for path in data.load("flickr8k").split("test").with_images().images[:n]:
        with Image.open(path) as image:
            large = image.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
            large.save(folder / Path(path).name, quality=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rclip", type=Path, required=True, help="the program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--photos", type=int, default=120)
    arguments = parse_arguments(parser, "rclip")
    rclip, own = str(arguments.rclip.absolute()), [sys.executable, "-m", "seesay"]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        make_stand_in(place / "stand-in")
        photos = place / "photos"
        make_photos(photos, arguments.photos)
        compiled = {"PYTHONPYCACHEPREFIX": str(place / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
        measured([*own, "search", QUERY, str(photos), "--library", str(place / "library")], photos, compiled)
        rounds: dict[str, list[Run]] = {
            name: [] for name in ("seesay index", "rclip index", "seesay query", "rclip query")
        }
        for number in range(arguments.rounds):
            library = place / f"library {number}"
            theirs = place / f"rclip {number}"
            theirs.mkdir()
            for part in (FOLDER, "tokenizer"):
                (theirs / part).symlink_to(place / "stand-in" / part)
            ours = {"SEESAY_LIBRARY": str(library), **compiled}
            turns = {
                "seesay index": ([*own, "search", QUERY, str(photos)], ours),
                "rclip index": ([rclip, QUERY], {"RCLIP_DATADIR": str(theirs)}),
            }
            asked = {
                "seesay query": ([*own, "search", QUERY, str(photos), "--no-index"], ours),
                "rclip query": ([rclip, "--no-indexing", QUERY], {"RCLIP_DATADIR": str(theirs)}),
            }
            for both in (turns, asked, asked, asked):
                for name in list(both) if number % 2 == 0 else list(both)[::-1]:
                    command, environment = both[name]
                    rounds[name].append(measured(command, photos, environment))
            shutil.rmtree(library)
    result = {what: compare(rounds, what) for what in ("index", "query")}
    record(
        arguments, ("onnxruntime", "numpy", "pillow"), rounds=arguments.rounds, photos=arguments.photos,
        size=[WIDTH, HEIGHT], rclip="3.3.0, with a stand-in for its weights", **result,
    )  # fmt: skip
    print(result)


def compare(rounds: dict[str, list[Run]], what: str) -> dict[str, Any]:
    ours, theirs = rounds[f"seesay {what}"], rounds[f"rclip {what}"]
    both = list(zip(ours, theirs, strict=True))
    return {
        "seesay_seconds": round(statistics.median(each.seconds for each in ours), 3),
        "rclip_seconds": round(statistics.median(each.seconds for each in theirs), 3),
        "times_as_fast": round(statistics.median(their.seconds / own.seconds for own, their in both), 2),
        "seesay_cpu_seconds": round(statistics.median(each.cpu for each in ours), 3),
        "rclip_cpu_seconds": round(statistics.median(each.cpu for each in theirs), 3),
        "times_as_fast_by_cpu": round(statistics.median(their.cpu / own.cpu for own, their in both), 2),
        "seesay_least_seconds": round(min(each.seconds for each in ours), 3),
        "rclip_least_seconds": round(min(each.seconds for each in theirs), 3),
        "seesay_peak_megabytes": max(each.memory for each in ours),
        "rclip_peak_megabytes": max(each.memory for each in theirs),
    }


if __name__ == "__main__":
    main()
