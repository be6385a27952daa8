"""The wirings of m-RNN's Table 9 and what goes beyond the paper, trained alike and measured on Flickr8K dev.

Each is a run of recipes/mrnn-wirings.toml in a folder of its own. A run that was stopped goes on, and a finished one is
not run again: the same command after an interruption costs what is left.

    SEESAY_DATA=… python benchmarks/wirings.py [--beam 3] [--runs runs/wirings] [--set optimiser.rate=5e-4 …]

`--images 100 --set stop.epochs=1` tries it out on so many pictures, in a folder of its own and without a result file.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from recording import parse_arguments, record
from seesay.captioning.settings import Settings
from seesay.data.examples import Examples
from seesay.evaluation.captions import evaluate_captions
from seesay.evaluation.papers import rows as published_rows
from seesay.images.extraction import FeatureTable
from seesay.models.base import Captioner, Weights
from seesay.models.mrnn import WIRINGS
from seesay.models.pretrained import find, load_captioner
from seesay.training.captioning import CaptioningTask
from seesay.training.recipe import Recipe, read_recipe
from seesay.training.run import prepare, run_task
from seesay.training.sources import read_collection

RECIPE = Path(__file__).resolve().parents[1] / "recipes/mrnn-wirings.toml"
PRINTED = {
    "m-rnn": "m-RNN",
    "no-emb-input": "m-RNN-NoEmbInput",
    "one-layer-emb": "m-RNN-OneLayerEmb",
    "emb-one-input": "m-RNN-EmbOneInput",
    "vis-in-rnn": "m-RNN-visInRnn",
    "vis-in-rnn-both": "m-RNN-visInRnn-both",
    "vis-in-rnn-both-shared": "m-RNN-visInRnn-both-shared",
}
BEYOND = {
    "shared": ["config.shared=true"],
    "gru": ["config.cell=gru"],
    "lstm": ["config.cell=lstm"],
    "wide": ["config.embedding=256", "config.recurrent=512"],
    "wide-shared": ["config.embedding=256", "config.recurrent=512", "config.shared=true"],
}
ROWS = (*WIRINGS, *BEYOND)
FIGURES = ("perplexity", "bleu1", "bleu2", "bleu3", "bleu4", "cider")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wirings", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--beam", type=int, default=3)
    parser.add_argument("--runs", type=Path, default=Path("runs/wirings"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as in seesay train")
    parser.add_argument("--images", type=int, default=0, help="learn from and measure on so many only")
    arguments = parse_arguments(parser, "wirings")
    runs = arguments.runs.with_name(f"{arguments.runs.name}-{arguments.images}") if arguments.images else arguments.runs
    table = {row.method: row for row in published_rows("captions", "flickr30k", ablations=True) if row.ablation}
    rows = []
    for wiring in arguments.wirings:
        changes = BEYOND.get(wiring, [f"config.wiring={wiring}"])
        recipe = read_recipe(RECIPE, [*changes, *arguments.set])
        weights = train(recipe, runs / wiring, arguments.images)
        found = measure(weights, recipe, arguments.beam, arguments.images)
        printed = table[PRINTED[wiring]].printed if wiring in PRINTED else {}
        rows.append({"wiring": wiring, **found, "epoch": weights.about["epochs"], "printed": dict(printed)})
        print(wiring, " ".join(f"{name} {found[name]:.4g}" for name in FIGURES), flush=True)
    if arguments.images:
        return
    record(
        arguments,
        ("torch",),
        data="flickr8k dev",
        recipe=recipe.name,
        epochs=recipe.stop.epochs,
        beam=arguments.beam,
        rows=rows,
    )


def train(recipe: Recipe, folder: Path, n_images: int) -> Weights:
    """The weights of a run, which is started, taken up or found finished."""
    if (folder / "weights/config.json").is_file():
        weights = find(folder / "weights")
        if weights.about["recipe_fingerprint"] == recipe.fingerprint():
            return weights
    start = time.monotonic()
    task = prepare(recipe)
    assert isinstance(task, CaptioningTask)
    if n_images:
        sources = [first(source, n_images) for source in task.sources]
        task = CaptioningTask(task.model, sources, first(task.dev, n_images), recipe)
    weights = run_task(task, folder)
    print(f"{folder}: {(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    return weights


def first(source: Examples, n_images: int) -> Examples:
    """The first pictures of a source."""
    assert source.table is not None
    collection = replace(source.collection, items=source.collection.items[:n_images])
    return Examples.of(collection, FeatureTable(source.table.store, source.table.keys[:n_images]))


def measure(weights: Weights, recipe: Recipe, beam: int, n_images: int) -> dict[str, Any]:
    """The dev figures of captions by beam search."""
    model: Captioner = load_captioner(weights.folder)
    protocol = f"limit-{n_images}" if n_images else "full"
    dev = read_collection(recipe.data.dev)
    evaluation = evaluate_captions(model, dev, protocol, settings=Settings(beam=beam), meteor=False)
    found = evaluation.to_report()["captions"]
    return {name: found[name] for name in FIGURES}


if __name__ == "__main__":
    main()
