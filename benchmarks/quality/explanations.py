"""Are explanations right, not only pretty? The three games of `seesay.evaluation.explanations` on Flickr8K.

SEESAY_DATA=… python -m benchmarks.quality.explanations [identifier] [--split dev] [--photos 1000] [--hidden 60]
"""

import argparse

import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.evaluation.explanations import evaluate_explanations
from seesay.models.pretrained import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="identifier")
    parser.add_argument("--split", default="test")
    parser.add_argument("--photos", type=int, default=1000, help="photos whose phrases are pointed at")
    parser.add_argument("--hidden", type=int, default=60, help="photos of which parts are hidden")
    parser.add_argument("--sentences", type=int, default=150, help="photos whose sentences lose words")
    arguments = parse_arguments(parser, "explanations")
    torch.set_num_threads(1)
    model = load(arguments.model)
    collection = entities.attach(data.load("flickr8k").split(arguments.split), data.locate("flickr30k_entities"))
    found = evaluate_explanations(
        model, collection, beside=load("vse"), n_photos=arguments.photos, n_hidden=arguments.hidden,
        n_sentences=arguments.sentences,
    )  # fmt: skip
    print(f"{found.n_phrases} phrases of {found.n_photos} photos, percent in a box:")
    for name, row in sorted(found.pointing.items(), key=lambda pair: -pair[1].mean):
        print(f"  {name:28}", row)
    for name, others in found.better.items():
        print(f"{name} is better by:", *others.items(), sep="\n  ")
    print("fall of the score by share of the photo that is hidden:", *found.hiding.items(), sep="\n  ")
    print("fall of the score by words left out:", *found.leaving_out.items(), sep="\n  ")
    record(
        arguments, ("torch", "numpy"), model=model.weights.name if model.weights else arguments.model,
        data="flickr8k", split=arguments.split, **found.to_report()["explanations"],
    )  # fmt: skip


if __name__ == "__main__":
    main()
