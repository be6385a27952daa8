"""What each part of sm-LSTM is worth: its variants, the number of steps T, λ, and its size, trained alike on Flickr8K.

Each is a run of recipes/smlstm-flickr8k.toml, or of another recipe, in a folder of its own. A run that was stopped goes
on, and a finished one is not run again. All are measured on dev, which chooses; test stands beside the variants because
the paper prints it. The ensemble is the sum of the standardised scores of the four variants mean, att, ctx and full, as
the paper sums theirs: nothing of it is chosen.

    SEESAY_DATA=… python benchmarks/attention_ablations.py [--sweeps variants steps lambda sizes forms] [--set K=V]
"""

import argparse
import re
from pathlib import Path
from typing import Any

import torch

from recording import parse_arguments, record
from runs import score_once, train
from seesay import data
from seesay.metrics.retrieval import retrieval_report
from seesay.training.recipe import read_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/smlstm-flickr8k.toml"
VARIANTS = ("mean", "att", "ctx", "full")
SWEEPS = {
    "variants": {name: [f"config.variant={name}"] for name in VARIANTS},
    "steps": {f"T = {n}": [f"config.n_steps={n}"] for n in (1, 2, 3, 4, 5)},
    "lambda": {f"λ = {value}": [f"config.stochastic={value}"] for value in ("0.0", "0.01", "0.1", "1.0")},
    "sizes": {
        f"{n:,} hidden units, T = 3": [f"config.hidden={n}", "config.n_steps=3"] for n in (128, 1024)
    },  # of which the second is the paper's
    "forms": {
        "joint": [],
        "attention as published": ["config.attention=paper"],
        "two-way MLP": ["config.similarity=sum"],
        "hinge": ["loss.name=hinge-sum", "loss.margin=0.2"],
        "hinge, hardest": ["loss.name=hinge-hardest", "loss.margin=0.2"],
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", nargs="+", choices=SWEEPS, default=list(SWEEPS))
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument("--set", action="append", default=[], dest="overrides", metavar="KEY=VALUE")
    parser.add_argument("--runs", type=Path, default=Path("runs/smlstm-ablations"))
    parser.add_argument("--keep", type=Path, help="a folder for score matrices, which are not computed twice")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parse_arguments(parser, "attention_ablations")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    collection = data.load("flickr8k").split("test")
    base = read_recipe(arguments.recipe, arguments.overrides)
    found: dict[str, list[dict[str, Any]]] = {}
    for sweep in arguments.sweeps:
        rows: list[dict[str, Any]] = []
        together: Any = 0.0  # of the variants, standardised
        for name, changes in SWEEPS[sweep].items():
            recipe = read_recipe(arguments.recipe, [*arguments.overrides, *changes])
            # A folder is named after what differs, so that T = 3, the variant full and the rest are one run.
            differs = [f"{where.split('.')[-1]} {here}" for where, here, _ in recipe.differences(base)]
            key = re.sub(r"[^a-z0-9.]+", "-", " ".join(differs) or "base")
            weights = train(recipe, arguments.runs / key)
            row = {"name": name, "changes": changes, "dev": weights.figures["flickr8k/dev"]}
            print(f"{name:<22} dev Sum {row['dev']['sum']:.1f}", flush=True)
            if sweep == "variants":
                said, image_of = score_once(str(weights.folder), collection, "full", arguments.keep)
                row["test"] = retrieval_report(said.scores, image_of)
                together = together + (said.scores - said.scores.mean()) / said.scores.std()
                print(f"{name:<22} test Sum {row['test']['sum']:.1f}", flush=True)
            rows.append(row)
        if sweep == "variants":
            rows.append({"name": "ensemble", "changes": [], "test": retrieval_report(together, image_of)})
            print(f"{'ensemble':<22} test Sum {rows[-1]['test']['sum']:.1f}", flush=True)
        found[sweep] = rows
    record(
        arguments,
        ("torch",),
        data="flickr8k",
        recipe=base.name,
        hidden=base.config["hidden"],
        epochs=base.stop.epochs,
        overrides=arguments.overrides,
        sweeps=found,
    )


if __name__ == "__main__":
    main()
