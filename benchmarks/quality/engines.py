"""Whether `seesay evaluate` finds the same figures from graphs as from torch, for weights that ship, on real photos.

Both engines get the same stored features of the same photos. What they share then is the features and the measuring:
encoding images and sentences, scoring pairs, writing captions and finding regions is each engine's own.

    SEESAY_DATA=… python -m benchmarks.quality.engines [--data flickr8k] [--limit 100] [--only vse]
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
    ("eye", "retrieval"),
    ("vse", "retrieval"),
    ("dvsa", "retrieval"),
    ("hmlstm", "retrieval"),
    ("smlstm", "retrieval"),
    ("mrnn", "captions"),
    ("mrnn-flickr8k", "retrieval"),
    ("dvsa", "grounding"),
    ("eye", "identification"),
    ("identifier", "identification"),
)
_NO_FIGURES = ("model", "data", "protocol", "seconds", "seesay", "torch", "date", "command")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--only", action="append", help="these weights alone")
    arguments = parse_arguments(parser, "engines")
    rows = []
    for weights, task in TASKS:
        if arguments.only and weights not in arguments.only:
            continue
        options = ["--entities", "flickr30k_entities"] if task == "grounding" else []
        found = {engine: figures(weights, task, engine, arguments, options) for engine in ENGINES}
        one, other = (found[engine] for engine in ENGINES)
        rows.append({
            "weights": weights,
            "task": task,
            "n_figures": len(one),
            "n_that_differ": sum(one[name] != other.get(name) for name in one) + len(other.keys() - one.keys()),
            "largest_difference": max((abs(one[name] - other[name]) for name in one if name in other), default=None),
            "differ": {name: [one[name], other.get(name)] for name in one if one[name] != other.get(name)},
        })  # fmt: skip
        print(rows[-1], flush=True)
        record(arguments, ("torch", "onnxruntime"), data=f"{arguments.data}/dev", photos=arguments.limit, rows=rows)


def figures(
    weights: str, task: str, engine: str, arguments: argparse.Namespace, options: list[str]
) -> dict[str, float]:
    """Every number of a report, by its place in it."""
    out = StringIO()
    with contextlib.redirect_stdout(out):
        try:
            run(["evaluate", weights, "--data", arguments.data, "--split", "dev", "--limit", str(arguments.limit),
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
