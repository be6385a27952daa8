"""What each trick of DVSA's supplement is worth to its caption RNN: variants trained alike, measured on Flickr8K dev.

Each is a short run of recipes/dvsa-captions-tricks.toml that leaves one trick out, in a folder of its own; finished
runs are not run again. Whole photos: perplexity of people's sentences and CIDEr of greedy captions. Regions: perplexity
of the phrases of Flickr30k Entities given the box around their thing, which no variant has learned from.

    SEESAY_DATA=… python benchmarks/region_captions.py [--variants all sgd …]
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recording import parse_arguments, record
from runs import train
from seesay import data
from seesay.data import entities
from seesay.evaluation.grounding import BoxedPhrase, boxed_phrases
from seesay.images.extraction import FeatureTable, features_of
from seesay.images.features import FeatureSpec
from seesay.metrics.captions import perplexity
from seesay.models.base import Weights
from seesay.models.dvsa_captions import DVSACaptions, cut_regions, load_describer
from seesay.system.tables import read_table
from seesay.training.recipe import read_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/dvsa-captions-tricks.toml"
VARIANTS = {
    "all": [],
    "rnn instead of lstm": ["config.cell=rnn"],
    "region alone, no full frame": ["config.context=false"],
    "biases from 0": ["config.frequency_bias=false"],
    "no clipping": ["optimiser.clip_value=0"],
    "sgd": ["optimiser.name=sgd", "optimiser.rate=2.0", "optimiser.momentum=0.9"],
    "whole photos only": ['data.train=[{source="flickr8k"}]'],
    "adam": ["optimiser.name=adam"],
}
"""What differs from the recipe, which has all of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--runs", type=Path, default=Path("runs/region-captions"))
    parser.add_argument("--images", type=int, default=200, help="dev photos whose boxed phrases are asked for")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parse_arguments(parser, "region_captions")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    dev = entities.attach(data.load("flickr8k").split("dev"), data.locate("flickr30k_entities"))
    phrases = [phrase for phrase in boxed_phrases(dev) if phrase.item < arguments.images]
    spec = read_table(FeatureSpec, read_recipe(RECIPE).features, str(RECIPE))
    table = features_of(dev.images[: arguments.images], spec, ("pooled", "map"))
    rows: list[dict[str, Any]] = []
    for name in arguments.variants:
        recipe = read_recipe(RECIPE, VARIANTS[name])
        weights = train(recipe, arguments.runs / name.replace(", ", "-").replace(" ", "-"))
        rows.append({"variant": name, "changes": VARIANTS[name], **measure(weights, table, phrases)})
        print(name, rows[-1], flush=True)
        about = {"data": "flickr8k dev", "recipe": recipe.name, "epochs": recipe.stop.epochs}
        record(arguments, ("torch",), **about, n_phrases=len(phrases), rows=rows)


def measure(weights: Weights, table: FeatureTable, phrases: Sequence[BoxedPhrase]) -> dict[str, Any]:
    """What finished weights reach on whole photos and on boxes."""
    model = load_describer(weights.folder)
    found = weights.figures["flickr8k/dev"]["captions"]
    row: dict[str, Any] = {key: round(found[key], 4) for key in ("perplexity", "bleu4", "cider")}
    row |= {"words": len(model.vocabulary), "parameters": sum(weight.numel() for weight in model.parameters())}
    return row | {"phrase_perplexity": round(phrase_perplexity(model, table, phrases), 4)}


@torch.inference_mode()
def phrase_perplexity(model: DVSACaptions, table: FeatureTable, phrases: Sequence[BoxedPhrase]) -> float:
    """Perplexity of phrases given the box around all that they speak of."""
    total, n_words = 0.0, 0
    for item in sorted({phrase.item for phrase in phrases}):
        own = [phrase for phrase in phrases if phrase.item == item]
        around = [np.concatenate([p.boxes[:, :2].min(axis=0), p.boxes[:, 2:].max(axis=0)]) for p in own]
        regions = model.encode_images(cut_regions(table.rows([item]), np.array(around, np.float32)))
        texts = [phrase.text for phrase in own]
        total += float(model.log_prob(regions, texts).sum())
        n_words += int(model.predicted_rows(texts)[2].sum())
    return perplexity([total], [n_words], base=math.e)


if __name__ == "__main__":
    main()
