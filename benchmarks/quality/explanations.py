"""Are explanations right, not only pretty? The three games of `seesay.evaluation.explanations` on Flickr8K.

    SEESAY_DATA=… python -m benchmarks.quality.explanations [identifier] [--split dev] [--photos 1000] [--hidden 60]
    SEESAY_DATA=… python -m benchmarks.quality.explanations --only dependence

All games take a quarter of an hour of one core; `--only dependence` takes a minute and keeps the rest of the record.
"""

import argparse
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Collection, entities
from seesay.evaluation.explanations import compare_sentences, draw_photos, evaluate_explanations
from seesay.images.extraction import features_of
from seesay.layers.dropout import without_dropout
from seesay.models.base import Matcher
from seesay.models.pretrained import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="identifier")
    parser.add_argument("--split", default="test")
    parser.add_argument("--photos", type=int, default=1000, help="photos whose phrases are pointed at")
    parser.add_argument("--hidden", type=int, default=60, help="photos of which parts are hidden")
    parser.add_argument("--sentences", type=int, default=150, help="photos whose sentences lose words")
    parser.add_argument("--only", choices=["dependence"], help="this alone; the record keeps the rest")
    arguments = parse_arguments(parser, "explanations")
    torch.set_num_threads(1)
    model, beside = load(arguments.model), load("vse")
    collection = entities.attach(data.load("flickr8k").split(arguments.split), data.locate("flickr30k_entities"))
    if arguments.only:
        add_dependence(arguments, parser, model, beside, collection)
        return
    found = evaluate_explanations(
        model, collection, beside=beside, n_photos=arguments.photos, n_hidden=arguments.hidden,
        n_sentences=arguments.sentences,
    )  # fmt: skip
    print(f"{found.n_phrases} phrases of {found.n_photos} photos, percent in a box:")
    for name, row in sorted(found.pointing.items(), key=lambda pair: -pair[1].mean):
        print(f"  {name:28}", row)
    for name, others in found.better.items():
        print(f"{name} is better by:", *others.items(), sep="\n  ")
    print("fall of the score by share of the photo that is hidden:", *found.hiding.items(), sep="\n  ")
    print("fall of the score by words left out:", *found.leaving_out.items(), sep="\n  ")
    print("correlation of the maps of right and foreign sentences:", *found.dependence.correlation.items(), sep="\n  ")
    record(
        arguments, ("torch", "numpy"), model=_name(model, arguments), data="flickr8k", split=arguments.split,
        **found.to_report()["explanations"],
    )  # fmt: skip


def add_dependence(
    arguments: argparse.Namespace,
    parser: argparse.ArgumentParser,
    model: Matcher,
    beside: Matcher,
    collection: Collection,
) -> None:
    """Measure what the whole benchmark would, on the same photos, and put it into its record."""
    kept: dict[str, Any] = json.loads(arguments.output.read_text(encoding="utf-8"))
    if (kept["model"], kept["split"]) != (_name(model, arguments), arguments.split):
        parser.error(f"--only: the record is of {kept['model']} on {kept['split']}")
    drawn = draw_photos(collection, arguments.photos, np.random.default_rng(0))
    drawn = replace(drawn, items=drawn.items[: arguments.sentences])
    table, other = (features_of(drawn.images, each.feature_spec, ("pooled", "map")) for each in (model, beside))
    with without_dropout(model):
        found = asdict(compare_sentences(model, drawn, table, beside, other))
    print(found)
    found["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    arguments.output.write_text(json.dumps({**kept, "dependence": found}, indent=2) + "\n", encoding="utf-8")


def _name(model: Matcher, arguments: argparse.Namespace) -> str:
    return model.weights.name if model.weights else str(arguments.model)


if __name__ == "__main__":
    main()
