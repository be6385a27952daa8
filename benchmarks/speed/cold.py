"""Where the time of a cold query goes: one `seesay search` of an indexed folder, step by step.

Each round is a process of its own that does what the command does, in its order, and notes the processor's time after
every step. What a query would take on top, were it not for what is done about it, is measured beside it: importing
typer and rich, opening graphs that were not kept, taking the interpreter down in order.

    SEESAY_DATA=… python -m benchmarks.speed.cold [--rounds 11]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.recording import parse_arguments, record
from benchmarks.speed.commands import measured
from seesay import data

QUERY = "two dogs play in the snow"
STEPS = """
import sys, time
marks = {"python": time.process_time()}
last = marks["python"]
def mark(step):
    global last
    now = time.process_time()
    marks[step] = marks.get(step, 0.0) + now - last
    last = now

query, folder = sys.argv[1:]
import seesay.cli.main, seesay.cli.use.search
mark("modules")
import numpy
mark("numpy")
import onnxruntime
mark("onnxruntime")
import sqlite3, tokenizers
import seesay.library.library, seesay.library.stores.sqlite, seesay.runtime.matching, seesay.verbs.searching
mark("modules")
from seesay.library.library import Library
library = Library()
library._agree()
stages = library.cascade.held(library.store)
mark("library")
model = library.encoder.model
models = [model, *(stage.model for stage in stages if stage.blend.most([query], stage.knows))]
for each in models:
    each.tokenizer, each.caption_words
mark("words")
for each in models:
    each.graphs.open("texts")
mark("graphs")
model.encode_texts([query])
mark("sentence")
found = library.search(query, folders=[folder], top=10)
mark("ranking")
library.close()

import typer
mark("typer")
import rich.console, rich.progress
mark("rich")

from seesay.runtime.session import open_session
for each in models:
    graphs = each.graphs
    entry = graphs.table["files"]["texts"]
    path = graphs.folder / entry["file"]
    open_session(path, 1, graphs._check(path, entry))
mark("graphs that were not kept")
import json
print(json.dumps(marks))
"""
ORDERLY = "import sys; from seesay.cli.main import run; run(sys.argv[1:])"
"""The command line without the end that `seesay.cli.main.start` makes."""
NEEDED = ("python", "modules", "numpy", "onnxruntime", "library", "words", "graphs", "sentence", "ranking")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parse_arguments(parser, "cold")
    photos = data.load("flickr8k").split("test").with_images().images[:120]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        folder = place / "photos"
        folder.mkdir()
        for path in photos:
            (folder / Path(path).name).symlink_to(Path(path).resolve())
        settings = {
            "SEESAY_LIBRARY": str(place / "library"), "PYTHONPYCACHEPREFIX": str(place / "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
        }  # fmt: skip
        words = ["search", QUERY, str(folder)]
        typed = [sys.executable, "-m", "seesay", *words]
        measured(typed, folder, settings)
        rounds = []
        whole = []
        for number in range(arguments.rounds + 1):
            steps = _steps(folder, settings)
            both = (
                measured(typed, folder, settings),
                measured([sys.executable, "-c", ORDERLY, *words], folder, settings),
            )
            if number:  # the first writes bytecode
                rounds.append(steps)
                whole.append(both)
    milliseconds = {step: round(1000 * statistics.median(each[step] for each in rounds), 1) for step in rounds[0]}
    ending = statistics.median(orderly.cpu - own.cpu for own, orderly in whole)
    result = {
        "cpu_milliseconds": {step: milliseconds[step] for step in NEEDED},
        "cpu_milliseconds_saved": {
            **{step: value for step, value in milliseconds.items() if step not in NEEDED},
            "an orderly end": round(1000 * ending, 1),
        },
        "command_cpu_milliseconds": round(1000 * statistics.median(own.cpu for own, _ in whole)),
        "command_milliseconds": round(1000 * statistics.median(own.seconds for own, _ in whole)),
        "command_milliseconds_least": round(1000 * min(own.seconds for own, _ in whole)),
        "command_peak_megabytes": max(own.memory for own, _ in whole),
    }
    record(arguments, ("onnxruntime", "numpy"), rounds=arguments.rounds, photos=len(photos), **result)
    print(json.dumps(result, indent=2))


def _steps(folder: Path, settings: dict[str, str]) -> dict[str, float]:
    finished = subprocess.run(
        [sys.executable, "-c", STEPS, QUERY, str(folder)], check=True, capture_output=True, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **settings},
    )  # fmt: skip
    found: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
