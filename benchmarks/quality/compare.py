"""One task of `seesay evaluate` for several weights, with one result: rows that a page shows below each other.

    SEESAY_DATA=… python -m benchmarks.quality.compare phrases hmlstm dvsa vse
    SEESAY_DATA=… python -m benchmarks.quality.compare correspondences hmlstm --split train

Weights in runs/ do not ship: `seesay train recipes/NAME.toml` makes them.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.catalogue.weights import find
from seesay.evaluation.comparison import compare, text_lines
from seesay.evaluation.report import build_report
from seesay.evaluation.tasks import TASKS, Request, find_task

RESULTS = Path(__file__).resolve().parents[1] / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("weights", nargs="+", help="names or folders")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--split", default="test")
    parser.add_argument("--beam", type=int, help="of captions")
    parser.add_argument("--limit", type=int, help="the first so many images only; recorded only where -o names a file")
    parser.add_argument("--keep", action="store_true", help="keep what the record has of other weights, with its date")
    arguments = parse_arguments(parser, "compare")
    arguments.name = arguments.task
    is_named = arguments.output.stem != "compare"
    if not is_named:
        arguments.output = RESULTS / f"{arguments.task}.json"
    collection = data.load(arguments.data).split(arguments.split)
    kept: dict[str, Any] = {}
    if arguments.keep and arguments.output.is_file():
        before = json.loads(arguments.output.read_text(encoding="utf-8"))
        if (before["data"], before["split"]) != (arguments.data, arguments.split):
            parser.error(f"--keep: the record is of {before['data']} {before['split']}")
        kept = {name: {"date": before["date"], **row} for name, row in before["rows"].items()}
    rows = {**kept, **{name: measure(arguments, collection, find(name)) for name in arguments.weights}}
    if is_named or not arguments.limit:
        record(
            arguments,
            ("torch", "numpy"),
            data=arguments.data,
            split=arguments.split,
            n_images=min(len(collection), arguments.limit or len(collection)),
            rows=rows,
        )


def measure(arguments: argparse.Namespace, collection: data.Collection, weights: Any) -> dict[str, Any]:
    """The part of a report that a task gives, which is printed beside the papers."""
    protocol = f"limit-{arguments.limit}" if arguments.limit else "full"
    request = Request(weights, collection, arguments.split, protocol, beam=arguments.beam)
    report = build_report(find_task(arguments.task).measure(request), weights, collection, arguments.split)
    print("\n".join(text for text, _ in text_lines(compare(report, arguments.task))), flush=True)
    figures = (
        {key: report[key] for key in ("i2t", "t2i", "sum")} if arguments.task == "retrieval" else report[arguments.task]
    )
    return {"name": weights.name, **figures}


if __name__ == "__main__":
    main()
