"""How much does a joint embedding gain by the hubness correction, and with how many cluster centres?

Training images and sentences are clustered; with each number of centres dev images and sentences are ranked, the two
weights being chosen there as for an ensemble. `--write` saves so many centres with each of the weights, as training
does by itself; those that ship have 128, for their size.

    SEESAY_DATA=… python benchmarks/hubness.py [WEIGHTS …] [--write N …]
"""

import argparse
from itertools import zip_longest
from typing import Any

from recording import parse_arguments, record
from seesay import data
from seesay.data.examples import Examples
from seesay.evaluation.ensembles import Scored, choose_weights
from seesay.images.extraction import features_of
from seesay.metrics.retrieval import retrieval_report
from seesay.models.popularity import POPULARITY, gather_popularity
from seesay.models.pretrained import find, load
from seesay.scoring import encode_all

N_GROUPS = (16, 32, 64, 128, 256, 512)


def measure(name: str, n_written: int, collection: data.Collection) -> dict[str, Any]:
    model = load(name)

    def encode(split: str) -> tuple[Any, ...]:
        part = collection.split(split)
        source = Examples.of(part, features_of(part.images, model.feature_spec, model.outputs))
        return *encode_all(model, source), source.image_of

    learned = encode("train")[:2]
    images, texts, image_of = encode("dev")
    scores = (images @ texts.T).numpy()
    sums = {"0": retrieval_report(scores, image_of)["sum"]}
    for n in N_GROUPS:
        popularity = gather_popularity(*learned, model.temperature, n)
        said = Scored(scores, popularity.of_images(images).numpy(), popularity.of_texts(texts).numpy())
        sums[str(n)] = retrieval_report(choose_weights([name], [said], image_of).join([said]), image_of)["sum"]
        print(f"{name} {n} groups: dev Sum {sums[str(n)]:.1f} ({sums['0']:.1f} without)", flush=True)
    if n_written:
        gather_popularity(*learned, model.temperature, n_written).write(find(name).folder / POPULARITY)
    return {"name": find(name).name, "sums": {n: round(value, 2) for n, value in sums.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", nargs="*", default=["vse", "runs/vse-flickr8k/weights"])
    parser.add_argument("--write", nargs="*", type=int, default=[], metavar="N", help="groups to leave beside each")
    arguments = parse_arguments(parser, "hubness")
    collection = data.load("flickr8k")
    rows = [measure(*each, collection) for each in zip_longest(arguments.weights, arguments.write, fillvalue=0)]
    record(arguments, ("torch", "scikit-learn"), data="flickr8k", split="dev", rows=rows)


if __name__ == "__main__":
    main()
