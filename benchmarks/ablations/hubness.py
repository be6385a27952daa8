"""How much does a joint embedding gain by the hubness correction, and with how many cluster centres?

Training images and sentences are clustered; with each number of centres dev images and sentences are ranked, the two
weights being chosen there. `seesay tune --only hubness` does the same for one number of centres and writes it; those
that ship have 128, for their size.

    SEESAY_DATA=… python -m benchmarks.ablations.hubness [WEIGHTS …]
"""

import argparse
from typing import Any

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data.examples import Examples
from seesay.images.extraction import features_of
from seesay.models.pretrained import find, load
from seesay.scoring import encode_all
from seesay.training.finishing.hubness import choose_hubness

N_CENTRES = (16, 32, 64, 128, 256, 512)


def measure(name: str, collection: data.Collection) -> dict[str, Any]:
    model = load(name)

    def encode(split: str) -> tuple[Any, ...]:
        part = collection.split(split)
        source = Examples.of(part, features_of(part.images, model.feature_spec, model.outputs))
        return *encode_all(model, source), source.image_of

    learned = encode("train")[:2]
    images, texts, image_of = encode("dev")
    sums: dict[str, float] = {}
    for n in N_CENTRES:
        found = choose_hubness(learned, (images, texts), image_of, model.temperature, n)
        sums |= {"0": found.sum_without, str(n): found.sum_with}
        print(f"{name} {n} centres: dev Sum {found.sum_with:.1f} ({found.sum_without:.1f} without)", flush=True)
    return {"name": find(name).name, "sums": {n: round(value, 2) for n, value in sums.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", nargs="*", default=["vse", "runs/vse-flickr8k/weights"])
    arguments = parse_arguments(parser, "hubness")
    collection = data.load("flickr8k")
    rows = [measure(name, collection) for name in arguments.weights]
    record(arguments, ("torch", "scikit-learn"), data="flickr8k", split="dev", rows=rows)


if __name__ == "__main__":
    main()
