"""What each part of sm-LSTM is worth: its variants, the number of steps T, and λ, trained alike on Flickr8K.

Each is a run of recipes/smlstm-ablations.toml, or of another recipe, in a folder of its own. A run that was stopped
goes on, and a finished one is not run again. The ensemble is the sum of the standardised scores of the four variants
mean, att, ctx and full, as the paper sums theirs. Dev chooses; test stands beside it because the paper prints it.

    SEESAY_DATA=… python benchmarks/attention_ablations.py [--sweeps variants steps lambda forms] [--set stop.epochs=1]
"""

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recording import parse_arguments, record
from runs import train
from seesay import data
from seesay.evaluation.protocols import find_protocol, read_measured
from seesay.metrics.retrieval import retrieval_report
from seesay.models.pretrained import load
from seesay.training.ranking import score_all
from seesay.training.recipe import read_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/smlstm-ablations.toml"
VARIANTS = ("mean", "att", "ctx", "full")
SWEEPS = {
    "variants": {name: [f"config.variant={name}"] for name in VARIANTS},
    "steps": {f"T = {n}": [f"config.n_steps={n}"] for n in (1, 2, 3, 4, 5)},
    "lambda": {f"λ = {value}": [f"config.stochastic={value}"] for value in ("0.0", "0.001", "0.01", "0.1", "1.0")},
    "forms": {
        "joint": [],
        "attention as printed": ["config.attention=printed"],
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
    parser.add_argument("--limit", type=int, default=0, help="measure on the first images only, for a quick look")
    parser.add_argument("--runs", type=Path, default=Path("runs/smlstm-ablations"))
    parser.add_argument("--threads", type=int, default=0)
    arguments = parse_arguments(parser, "attention_ablations")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    protocol = find_protocol(f"limit-{arguments.limit}" if arguments.limit else "full")
    collection = data.load("flickr8k")
    found: dict[str, list[dict[str, Any]]] = {}
    measured: dict[str, dict[str, Any]] = {}  # what two sweeps have in common is measured once
    for sweep in arguments.sweeps:
        rows: list[dict[str, Any]] = []
        scores: dict[str, list[np.ndarray]] = {"dev": [], "test": []}
        owners: dict[str, np.ndarray] = {}
        for name, changes in SWEEPS[sweep].items():
            recipe = read_recipe(arguments.recipe, [*arguments.overrides, *changes])
            key = recipe.fingerprint()
            if key not in measured or sweep == "variants":
                folder = arguments.runs / re.sub(r"[^a-z0-9.]+", "-", f"{recipe.name} {' '.join(changes)}".lower())
                model = load(train(recipe, folder).folder)
                figures = {}
                for split in ("dev", "test"):
                    source = read_measured(model, collection.split(split), protocol)
                    scores[split].append(score_all(model, source).numpy())
                    owners[split] = source.image_of
                    figures[split] = retrieval_report(scores[split][-1], source.image_of)
                measured[key] = figures
            rows.append({"name": name, "changes": changes, **measured[key]})
            print(_line(rows[-1]), flush=True)
        if sweep == "variants":
            joined = {split: sum((s - s.mean()) / s.std() for s in parts) for split, parts in scores.items()}
            together = {split: retrieval_report(matrix, owners[split]) for split, matrix in joined.items()}
            rows.append({"name": "ensemble", "changes": [], **together})
            print(_line(rows[-1]), flush=True)
        found[sweep] = rows
    record(
        arguments,
        ("torch",),
        data="flickr8k",
        protocol=protocol.name,
        recipe=recipe.name,
        hidden=recipe.config["hidden"],
        epochs=recipe.stop.epochs,
        overrides=arguments.overrides,
        sweeps=found,
    )


def _line(row: dict[str, Any]) -> str:
    return f"{row['name']:<22} dev Sum {row['dev']['sum']:.1f}  test Sum {row['test']['sum']:.1f}"


if __name__ == "__main__":
    main()
