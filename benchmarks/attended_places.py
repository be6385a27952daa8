"""Does sm-LSTM look where the words that it reads are? By step, with and without global context.

The pointing game of attended regions for attended words on the boxes of Flickr30k Entities, the centre of the picture
beside it, the mean map of every step (the paper's Figure 6), and how much maps change from step to step.

    SEESAY_DATA=… python benchmarks/attended_places.py [--weights smlstm …] [--split test] [--limit 100]
"""

import argparse
from dataclasses import replace
from pathlib import Path

from recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.evaluation.attending import N_WORDS, evaluate_attention
from seesay.models.pretrained import load
from seesay.models.smlstm import SMLSTM


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", nargs="+", default=["smlstm"], help="names or folders")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=0, help="the first pictures only, for a quick look")
    arguments = parse_arguments(parser, "attended_places")
    collection = data.load("flickr8k").split(arguments.split)
    if arguments.limit:
        collection = replace(collection, items=collection.items[: arguments.limit])
    boxed = entities.attach(collection, data.locate("flickr30k_entities"))
    rows = []
    for name in arguments.weights:
        model = load(name)
        if not isinstance(model, SMLSTM):
            parser.error(f"{name} is a {model.family}, not an smlstm")
        found = evaluate_attention(model, boxed)
        called = model.weights.name if model.weights else Path(name).name
        rows.append({"weights": called, "variant": model.config.variant, **found.to_dict()})
        for step, (pointing, centre) in enumerate(zip(found.pointing, found.centre, strict=True), 1):
            print(f"{called:<24} step {step}: pointing {pointing:5.1f} %  centre {centre:5.1f} %", flush=True)
    record(
        arguments, ("torch",), data="flickr8k", split=arguments.split, n_images=len(boxed), n_words=N_WORDS, rows=rows
    )


if __name__ == "__main__":
    main()
