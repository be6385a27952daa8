"""What each part of the alignment model is worth: variants trained alike on Flickr8K and measured on dev and test.

Each is a run of recipes/dvsa-ablations.toml in a folder of its own. A run that was stopped goes on, and a finished one
is not run again: the same command after an interruption costs what is left. Dev chooses; test stands beside it because
the paper prints it.

    SEESAY_DATA=… python benchmarks/alignment_ablations.py [--variants words edges …] [--runs runs/dvsa-ablations]
"""

import argparse
from pathlib import Path
from typing import Any

import torch

from recording import parse_arguments, record
from runs import train
from seesay import data
from seesay.evaluation.retrieval import evaluate_retrieval
from seesay.models.pretrained import load
from seesay.training.recipe import read_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/dvsa-ablations.toml"
VARIANTS = {
    "words and sentence": ["config.sentence=true"],
    "words": [],
    "edges": ["config.fragments=edges"],
    "full frame": ["config.regions=whole"],
    "rnn": ["config.cell=rnn"],
    "print": ["config.cell=rnn", "config.magnitudes=free", "loss.name=hinge-sum", "loss.margin=1.0"],
}
"""What is laid on regions: words in their sentence (BRNN), edges of the dependency tree; `print` follows the paper."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--runs", type=Path, default=Path("runs/dvsa-ablations"))
    parser.add_argument("--threads", type=int, default=0)
    arguments = parse_arguments(parser, "alignment_ablations")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    test = data.load("flickr8k").split("test")
    rows: list[dict[str, Any]] = []
    for name in arguments.variants:
        recipe = read_recipe(RECIPE, VARIANTS[name])
        weights = train(recipe, arguments.runs / name.replace(" ", "-"))
        row: dict[str, Any] = {"variant": name, "changes": VARIANTS[name], "dev": weights.figures["flickr8k/dev"]}
        row["test"] = evaluate_retrieval(load(weights.folder), test).to_report()
        rows.append(row)
        print(f"{name:<20} dev Sum {row['dev']['sum']:.1f}  test Sum {row['test']['sum']:.1f}", flush=True)
        record(arguments, ("torch",), data="flickr8k", recipe=recipe.name, epochs=recipe.stop.epochs, rows=rows)


if __name__ == "__main__":
    main()
