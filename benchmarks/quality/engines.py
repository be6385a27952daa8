"""Whether `seesay evaluate` finds the same figures from graphs as from torch, for weights that ship.

Graphs read photos through the network that ships, whose weights are kept in half precision; torch reads them through
the network in single precision. So a photo or a sentence that two candidates fit equally well may change its rank.

    SEESAY_DATA=… python -m benchmarks.quality.engines [--data flickr8k] [--only vse:retrieval --keep]
"""

import argparse
import contextlib
import json
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

from benchmarks.recording import parse_arguments, record
from seesay.cli.main import run
from seesay.engines import ENGINES

TASKS = (
    ("eye", "retrieval", 100),
    ("vse", "retrieval", 100),
    ("dvsa", "retrieval", 100),
    ("hmlstm", "retrieval", 100),
    ("smlstm", "retrieval", 100),
    ("mrnn", "captions", 100),
    ("mrnn-flickr8k", "retrieval", 10),
    ("dvsa", "grounding", 10),
    ("identifier", "identification", 5),
)
"""Weights, a task, and photos."""
_NO_FIGURES = ("model", "data", "protocol", "seconds", "seesay", "torch", "date", "command")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--only", action="append", metavar="WEIGHTS:TASK", help="this row alone")
    parser.add_argument("--keep", action="store_true", help="keep the rows that are recorded and not measured")
    arguments = parse_arguments(parser, "engines")
    rows = []
    if arguments.keep:
        rows = [row for row in json.loads(arguments.output.read_text())["rows"]
                if f"{row['weights']}:{row['task']}" not in arguments.only]  # fmt: skip
    for weights, task, photos in TASKS:
        if arguments.only and f"{weights}:{task}" not in arguments.only:
            continue
        options = ["--entities", "flickr30k_entities"] if task == "grounding" else []
        found = {engine: figures(weights, task, engine, arguments.data, photos, options) for engine in ENGINES}
        one, other = (found[engine] for engine in ENGINES)
        rows.append({
            "weights": weights,
            "task": task,
            "photos": photos,
            "n_figures": len(one),
            "n_that_differ": sum(one[name] != other.get(name) for name in one) + len(other.keys() - one.keys()),
            "largest_difference": max((abs(one[name] - other[name]) for name in one if name in other), default=None),
            "differ": {name: [one[name], other.get(name)] for name in one if one[name] != other.get(name)},
        })  # fmt: skip
        print(rows[-1], flush=True)
        record(arguments, ("torch", "onnxruntime"), data=f"{arguments.data}/dev", rows=rows)


def figures(weights: str, task: str, engine: str, data: str, photos: int, options: list[str]) -> dict[str, float]:
    """Every number of a report, by its place in it."""
    out = StringIO()
    with contextlib.redirect_stdout(out):
        try:
            run(["evaluate", weights, "--data", data, "--split", "dev", "--limit", str(photos),
                 "--task", task, "--engine", engine, "--json", *options])  # fmt: skip
        except SystemExit as end:
            if end.code:
                raise
    report = json.loads(out.getvalue())
    return dict(_numbers({name: part for name, part in report.items() if name not in _NO_FIGURES}))


def _numbers(part: Any, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(part, Mapping):
        for name, value in part.items():
            yield from _numbers(value, f"{place}.{name}".strip("."))
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from _numbers(value, f"{place}.{number}")
    elif isinstance(part, int | float):
        yield place, float(part)


if __name__ == "__main__":
    main()
