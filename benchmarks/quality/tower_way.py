"""The whole way of a CLIP that was learned here: add, index, search, tune, evaluate, explain, serve, as one types it.

seesay train recipes/tower-tiny.toml
SEESAY_DATA=… python -m benchmarks.quality.tower_way runs/tower-tiny [--photos 200]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.recording import parse_arguments, record, seconds
from seesay import data
from seesay.catalogue.weights import read_about

NAME = "tiny"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def say(*arguments: str) -> str:
    """What a command prints; one that fails ends everything."""
    finished = subprocess.run([sys.executable, "-m", "seesay", *arguments], capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"seesay {' '.join(arguments)}: {finished.stderr[-1000:]}")
    return finished.stdout


def recalls(report: dict[str, Any]) -> dict[str, Any]:
    """The figures of a retrieval report that tables show."""
    found = report.get("retrieval", report)
    return {key: found[key] for key in ("i2t", "t2i", "sum")}


def ask_server(query: str) -> int:
    """How many photos the page's API finds."""
    command = [sys.executable, "-m", "seesay", "serve", "--port", "0", "--every", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := _ADDRESS.search(line)))
        with urllib.request.urlopen(f"{address}/api/search?q={query.replace(' ', '+')}", timeout=60) as answer:
            return len(json.load(answer)["results"])
    finally:
        server.terminate()
        server.wait(timeout=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="the folder of the run")
    parser.add_argument("--photos", type=int, default=200)
    arguments = parse_arguments(parser, "tower_way")
    weights = read_about(arguments.run / "weights")
    test = data.load("flickr8k").split("test").with_images()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        os.environ |= {"SEESAY_MODELS": str(place / "models"), "SEESAY_LIBRARY": str(place / "library")}
        photos = place / "photos"
        photos.mkdir()
        for item in test.items[: arguments.photos]:
            assert item.image is not None
            (photos / Path(item.image).name).symlink_to(item.image)
        times = {}
        times["add"] = seconds(lambda: say("models", "add", str(weights.folder / "published"), "--name", NAME))
        before = json.loads(say("evaluate", NAME, "--data", "flickr8k", "--split", "test", "--json"))
        tuned = {step: json.loads(say("tune", NAME, "--only", step, "--data", "flickr8k", "--json"))
                 for step in ("hubness", "calibration")}  # fmt: skip
        times["index"] = seconds(lambda: say("index", str(photos), "--model", NAME))
        item = test.items[0]
        found = json.loads(say("search", item.sentences[0], "--no-index", "--json"))
        explained = {
            method: json.loads(
                say("explain", str(item.image), item.sentences[0], "-m", NAME, "--method", method, "--json")
            )["score"]
            for method in ("alignment", "crops")
        }
        served = ask_server("two dogs run in the snow")
    record(
        arguments, ("torch", "onnxruntime", "tokenizers"), data="flickr8k", seed=weights.about["seed"],
        recipe=weights.about["recipe_fingerprint"], epochs=weights.about["epochs"],
        dev=recalls(weights.figures["flickr8k/dev"]), test=recalls(before), tuned=tuned, photos=arguments.photos,
        seconds={name: round(taken, 1) for name, taken in times.items()},
        search={"results": len(found["results"]), "calibrated": found["results"][0]["word"] is not None},
        explained=explained, served=served,
    )  # fmt: skip


if __name__ == "__main__":
    main()
