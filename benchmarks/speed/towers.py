"""An added CLIP ViT-B/32 beside rclip 3.3.0: indexing a folder as typed, and a cold query, in the same run.

Both look through the same architecture, CLIP ViT-B/32 at 256 pixels with random weights: rclip a stand-in in its own
place and format (`benchmarks.speed.rclip`), seesay a folder that `transformers` has written and `seesay models add` has
added. They take turns; a ratio is the median of the rounds' own ratios, of time and of processors' time. Beside it,
photos a second of the bare graph in ONNX Runtime and of `transformers` in torch, on one thread.

    SEESAY_DATA=… python -m benchmarks.speed.towers --rclip RCLIP/bin/rclip [--rounds 3] [--photos 80]
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

from benchmarks.published import write_folder
from benchmarks.recording import parse_arguments, record, seconds
from benchmarks.speed.rclip import FOLDER, QUERY, Run, compare, make_photos, make_stand_in, measured
from seesay import data
from seesay.runtime.matching import Model
from seesay.verbs.adding import add_model

SIDE, N_BARE = 256, 8


def bare_rates(source: Path) -> dict[str, float]:
    """Photos a second on one thread, four at a time, without opening any."""
    torch.set_num_threads(1)
    pixels = np.zeros((4, SIDE, SIDE, 3), np.uint8)
    network = Model("clip", threads=1).network
    theirs = transformers.CLIPModel.from_pretrained(source).eval()
    prepared = torch.zeros(4, 3, SIDE, SIDE)
    ways = {"graph": lambda: network.run(pixels), "transformers": lambda: theirs.get_image_features(prepared)}
    best: dict[str, float] = {}
    with torch.inference_mode():
        for act in ways.values():
            act()
        for _ in range(N_BARE):
            for name, act in ways.items():
                best[name] = min(best.get(name, 1e9), seconds(act))
    return {name: round(4 / taken, 1) for name, taken in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rclip", type=Path, required=True, help="the program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--photos", type=int, default=80)
    arguments = parse_arguments(parser, "towers_speed")
    rclip, own = str(arguments.rclip.absolute()), [sys.executable, "-m", "seesay"]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        os.environ["SEESAY_MODELS"] = str(place / "models")
        source = write_folder("clip", place / "clip", data.load("flickr8k").sentences, real=True, side=SIDE)
        adding = seconds(lambda: add_model(source, "clip"))
        rates = bare_rates(source)
        make_stand_in(place / "stand-in")
        photos = place / "photos"
        make_photos(photos, arguments.photos)
        names = ("seesay index", "rclip index", "seesay query", "rclip query")
        rounds: dict[str, list[Run]] = {name: [] for name in names}
        for number in range(arguments.rounds):
            ours, theirs = {"SEESAY_LIBRARY": str(place / f"library {number}")}, place / f"rclip {number}"
            theirs.mkdir()
            for part in (FOLDER, "tokenizer"):
                (theirs / part).symlink_to(place / "stand-in" / part)
            them = {"RCLIP_DATADIR": str(theirs)}
            indexed = {
                "seesay index": ([*own, "index", str(photos), "--model", "clip"], ours),
                "rclip index": ([rclip, QUERY], them),
            }
            asked = {
                "seesay query": ([*own, "search", QUERY, str(photos), "--no-index"], ours),
                "rclip query": ([rclip, "--no-indexing", QUERY], them),
            }
            for turn in (indexed, asked, asked, asked):
                for name in list(turn) if number % 2 == 0 else list(turn)[::-1]:
                    rounds[name].append(measured(turn[name][0], photos, turn[name][1]))
        disk = sum(path.stat().st_size for path in (place / "models").rglob("*") if path.is_file())
    result = {what: compare(rounds, what) for what in ("index", "query")}
    record(
        arguments, ("onnxruntime", "torch", "transformers", "numpy", "pillow"), rounds=arguments.rounds,
        photos=arguments.photos, rclip="3.3.0, with a stand-in for its weights", side=SIDE,
        seconds_to_add=round(adding, 1), megabytes_of_added=round(disk / 1e6), photos_a_second_on_one_thread=rates,
        **result,
    )  # fmt: skip
    print(result, rates)


if __name__ == "__main__":
    main()
