"""Measure weights that are compared with and do not ship, and keep their card here without their tensors.

    seesay train recipes/mrnn-iapr.toml --set name=rnn-base-iapr --set config.wiring=rnn-base -o runs/rnn-base-iapr
    python benchmarks/unshipped.py runs/rnn-base-iapr/weights --data iapr --like mrnn-iapr --task captions

Captions are written as those of the weights that they stand beside (`--like`). The card, with recipe, data and figures,
goes to benchmarks/results/weights/NAME.json, from which tools/docs/render.py takes its rows.
"""

import argparse
from pathlib import Path

from seesay.cli.main import run
from seesay.models import pretrained
from seesay.system.files import replace_atomically

CARDS = Path(__file__).parent / "results/weights"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--like", required=True, help="weights by name whose captions are written the same way")
    parser.add_argument("--task", nargs="+", default=["captions", "retrieval"])
    parser.add_argument("--split", default="test")
    arguments = parser.parse_args()
    settings = pretrained.find(arguments.like).about["captioning"]
    pretrained.record_table(arguments.weights, "captioning", settings)
    for task in arguments.task:
        evaluate(arguments.weights, arguments.data, arguments.split, task)
    weights = pretrained.read_about(arguments.weights)
    CARDS.mkdir(parents=True, exist_ok=True)
    card = (weights.folder / "config.json").read_text()
    with replace_atomically(CARDS / f"{weights.name}.json") as temporary:
        temporary.write_text(card.replace(str(arguments.weights), f"runs/{weights.name}/weights"))
    print(f"written to {CARDS / weights.name}.json")


def evaluate(weights: Path, data: str, split: str, task: str) -> None:
    try:
        run(["evaluate", str(weights), "--data", data, "--split", split, "--task", task, "--json", "--record"])
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    main()
