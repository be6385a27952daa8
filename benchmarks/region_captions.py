"""What each trick of DVSA's supplement is worth to its caption RNN: variants trained alike, measured on Flickr8K dev.

Each is a short run of recipes/dvsa-captions-tricks.toml that leaves one trick out, in a folder of its own; finished
runs are not run again. Whole photos: perplexity of people's sentences and CIDEr of greedy captions. Regions: perplexity
of the phrases of Flickr30k Entities given the box around their thing, which no variant has learned from, and how many
of the words that the greedy phrase for such a box names things with are the person's own. Finished weights may stand
below the variants.

    SEESAY_DATA=… python benchmarks/region_captions.py [--variants all sgd …] [--weights dvsa-captions]
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
from seesay.decoding import greedy
from seesay.evaluation.grounding import BoxedPhrase, boxed_phrases
from seesay.images.extraction import FeatureTable, features_of
from seesay.images.features import FeatureSpec
from seesay.metrics.captions import perplexity
from seesay.models.base import Weights, read_config
from seesay.models.dvsa_captions import DVSACaptions, cut_regions, load_describer
from seesay.models.pretrained import find
from seesay.text.function_words import name_things
from seesay.text.tokens import tokenize
from seesay.training.recipe import read_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/dvsa-captions-tricks.toml"
VARIANTS = {
    "all": [],
    "rnn instead of lstm": ["config.cell=rnn"],
    "region alone, no full frame": ["config.context=false"],
    "biases from 0": ["config.frequency_bias=false"],
    "no clipping": ["optimiser.clip_value=0"],
    "sgd": ["optimiser.name=sgd", "optimiser.rate=0.5", "optimiser.momentum=0.9"],
    "whole photos only": ['data.train=[{source="flickr8k"}]'],
    "adam": ["optimiser.name=adam"],
}
"""What differs from the recipe, which has all of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--weights", nargs="*", default=[], help="finished weights to measure too")
    parser.add_argument("--runs", type=Path, default=Path("runs/region-captions"))
    parser.add_argument("--images", type=int, default=100, help="dev photos whose boxed phrases are asked for")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parse_arguments(parser, "region_captions")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    dev = entities.attach(data.load("flickr8k").split("dev"), data.locate("flickr30k_entities"))
    phrases = [phrase for phrase in boxed_phrases(dev) if phrase.item < arguments.images]
    spec = read_config(FeatureSpec, read_recipe(RECIPE).features, str(RECIPE))
    table = features_of(dev.images[: arguments.images], spec, ("pooled", "map"))
    rows: list[dict[str, Any]] = []
    for name in arguments.variants:
        recipe = read_recipe(RECIPE, VARIANTS[name])
        weights = train(recipe, arguments.runs / name.replace(", ", "-").replace(" ", "-"))
        rows.append({"variant": name, "changes": VARIANTS[name], **measure(weights, table, phrases)})
        print(name, rows[-1], flush=True)
        about = {"data": "flickr8k dev", "recipe": recipe.name, "epochs": recipe.stop.epochs}
        record(arguments, ("torch",), **about, n_phrases=len(phrases), rows=rows)
    for name in arguments.weights:
        rows.append({"variant": f"`{name}`, as shipped", "changes": [], **measure(find(name), table, phrases)})
        print(name, rows[-1], flush=True)
        record(arguments, ("torch",), **about, n_phrases=len(phrases), rows=rows)


def measure(weights: Weights, table: FeatureTable, phrases: Sequence[BoxedPhrase]) -> dict[str, Any]:
    """What finished weights reach on whole photos and on boxes."""
    model = load_describer(weights.folder)
    found = weights.figures["flickr8k/dev"]["captions"]
    row: dict[str, Any] = {key: round(found[key], 4) for key in ("perplexity", "bleu4", "cider")}
    row |= {"words": len(model.vocabulary), "parameters": sum(weight.numel() for weight in model.parameters())}
    return row | measure_phrases(model, table, phrases)


@torch.inference_mode()
def measure_phrases(model: DVSACaptions, table: FeatureTable, phrases: Sequence[BoxedPhrase]) -> dict[str, float]:
    """Perplexity of phrases given the box around what they speak of, and percent of named things that people named."""
    total, n_words, named = 0.0, 0, 0.0
    for item in sorted({phrase.item for phrase in phrases}):
        own = [phrase for phrase in phrases if phrase.item == item]
        around = [np.concatenate([p.boxes[:, :2].min(axis=0), p.boxes[:, 2:].max(axis=0)]) for p in own]
        regions = model.encode_images(cut_regions(table.rows([item]), np.array(around, np.float32)))
        texts = [phrase.text for phrase in own]
        total += float(model.log_prob(regions, texts).sum())
        n_words += int(model.predicted_rows(texts)[2].sum())
        written = greedy(model, model.start(regions), max_length=12)
        for text, answer in zip(texts, written, strict=True):
            said = _named(model.vocabulary.decode(answer.words))
            named += len(said & _named(tokenize(text))) / max(1, len(said))
    found = perplexity([total], [n_words], base=math.e)
    return {"phrase_perplexity": round(found, 4), "named": round(100 * named / len(phrases), 2)}


def _named(words: list[str]) -> set[str]:
    return {word for word, names in zip(words, name_things(words), strict=True) if names}


if __name__ == "__main__":
    main()
