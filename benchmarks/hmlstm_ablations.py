"""What each part of HM-LSTM is worth: variants trained alike on Flickr8K and measured on dev and test.

Each is a run of recipes/hmlstm-ablations.toml in a folder of its own. A run that was stopped goes on, and a finished
one is not run again: the same command after an interruption costs what is left. All have the same number of epochs;
those with rounds spend the last three on phrases and regions too. Sentences and photos are compared as a whole, as in
the paper; on dev also with what their phrases find. Beside image-sentence ranking stands the share of training phrases
whose region, as the finished model would choose it, overlaps an annotated box by half. Dev chooses; test stands beside
it because the paper prints it.

    SEESAY_DATA=… python benchmarks/hmlstm_ablations.py [--variants "three rounds" …] [--runs runs/hmlstm-ablations]
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from recording import parse_arguments, record
from runs import train
from seesay import data
from seesay.data import entities
from seesay.evaluation.correspondences import judge_correspondences
from seesay.evaluation.retrieval import evaluate_retrieval
from seesay.images.extraction import features_of
from seesay.models.hmlstm import HMLSTM
from seesay.models.pretrained import load
from seesay.training.recipe import read_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/hmlstm-ablations.toml"
COARSE = "config.coarse_epochs=8"
BAG_SCORE = 0.5
VARIANTS = {
    "sentence level, Tree-LSTM": [COARSE, "config.syntax=false"],
    "sentence level": [COARSE],
    "one round": ["config.round_epochs=3"],
    "two rounds": ["config.round_epochs=2"],
    "three rounds": [],
    "three rounds, bags learned": ["config.bag_weight=0.5", "config.region_dropout=0.5"],
    "three rounds, by cosine": ["config.match=cosine"],
    "sentence level, root": [COARSE, "config.sentence=root"],
    "sentence level, fixed words": [COARSE, "config.fixed_words=true", "config.word_dim=50"],
    "three rounds, hinge": ["loss.name=hinge-sum"],
    "three rounds, hardest": ["loss.name=hinge-hardest"],
    "as published": [
        *("config.fixed_words=true", "config.word_dim=50", "config.sentence=root", "config.phrase_weight=1.0"),
        "config.match=cosine",
        *("config.dropout=0.0", "config.image_dropout=0.0", "config.word_dropout=0.0", "config.hidden=512"),
        *("loss.name=hinge-sum", "batches.size=64", 'data.train=[{ source = "flickr8k" }]'),
        *("optimiser.name=adam", "optimiser.rate=8e-3", "optimiser.schedule=constant", "optimiser.weight_decay=0.0"),
        *("optimiser.warmup=0", "optimiser.ema=0.0", "optimiser.clip_norm=0.0"),
    ],
}
"""`as published` follows the paper wherever it says how; the others differ from the recipe in what their name says."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--runs", type=Path, default=Path("runs/hmlstm-ablations"))
    parser.add_argument("--threads", type=int, default=0)
    arguments = parse_arguments(parser, "hmlstm_ablations")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    collection = data.load("flickr8k")
    learned = entities.attach(collection.split("train"), data.locate("flickr30k_entities"))
    rows: list[dict[str, Any]] = []
    for name in (name for name in VARIANTS if name in arguments.variants):
        recipe = read_recipe(RECIPE, VARIANTS[name])
        model = load(train(recipe, arguments.runs / name.replace(",", "").replace(" ", "-")).folder)
        assert isinstance(model, HMLSTM)
        row: dict[str, Any] = {"variant": name, "changes": VARIANTS[name]}
        for split in ("dev", "test"):
            row[split] = evaluate_retrieval(model, collection.split(split)).to_report()
        model.config = replace(model.config, bag_score=BAG_SCORE)
        row["dev_with_bags"] = evaluate_retrieval(model, collection.split("dev")).to_report()
        table, maps = (
            features_of(learned.images, model.feature_spec, outputs) for outputs in (model.outputs, ("pooled", "map"))
        )
        found, _ = judge_correspondences(model, learned, table, maps if model.config.match == "heat" else None)
        row["correspondences"] = {"correct": found.correct, "random": found.random, "upper_bound": found.upper_bound}
        rows.append(row)
        print(
            f"{name:<28} dev Sum {row['dev']['sum']:.1f} ({row['dev_with_bags']['sum']:.1f} with bags)  "
            f"test Sum {row['test']['sum']:.1f}  "
            f"correspondences {found.correct:.1f} % (random {found.random:.1f}, bound {found.upper_bound:.1f})",
            flush=True,
        )
    record(arguments, ("torch",), data="flickr8k", recipe=recipe.name, epochs=recipe.stop.epochs, rows=rows)


if __name__ == "__main__":
    main()
