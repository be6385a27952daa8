"""How much do matchers find together? Members alone and the sum of their standardised scores, on Flickr8K.

Weights are chosen on dev, figures are of test. One ensemble has members that learned from Flickr8K's training images
alone, the other those that ship for use. Every member's scores of a split are computed once; what a captioner's
likelihoods take is most of the time.

    SEESAY_DATA=… python benchmarks/ensembles.py [--flickr8k NAME …] [--shipped NAME …] [--limit 100] [--keep DIR]
"""

import argparse
from pathlib import Path
from typing import Any

from recording import parse_arguments, record
from runs import score_once
from seesay import data
from seesay.data import Collection
from seesay.evaluation.ensembles import Scores, choose_weights
from seesay.metrics.retrieval import retrieval_report
from seesay.models.weights import find

FLICKR8K = tuple(
    f"runs/{name}-flickr8k{rest}/weights"
    for name, rest in (("vse", ""), ("dvsa", ""), ("hmlstm", ""), ("smlstm", ""), ("mrnn", "-self-normalised"))
)
SHIPPED = ("vse", "dvsa", "hmlstm", "smlstm", "mrnn")


def scores_of(names: list[str], split: Collection, protocol: str, keep: Path | None) -> tuple[list[Scores], Any]:
    """The members' scores and the image of each text."""
    parts: list[Scores] = []
    image_of = None
    for name in names:
        scores, image_of = score_once(name, split, protocol, keep)
        parts.append(scores)
    return parts, image_of


def measure(names: list[str], collection: Collection, protocol: str, keep: Path | None) -> dict[str, Any]:
    dev, dev_owners = scores_of(names, collection.split("dev"), protocol, keep)
    test, owners = scores_of(names, collection.split("test"), protocol, keep)
    together = choose_weights(names, dev, dev_owners, "flickr8k/dev")
    rows = [
        {"name": find(name).name, "dev": retrieval_report(mine, dev_owners), "test": retrieval_report(own, owners)}
        for name, mine, own in zip(names, dev, test, strict=True)
    ]
    rows.append(
        {
            "name": "ensemble",
            "weights": {find(member.name).name: member.weight for member in together.members},
            "dev": retrieval_report(together.join(dev), dev_owners),
            "test": retrieval_report(together.join(test), owners),
        }
    )
    for row in rows:
        recalls = " ".join(f"{row['test'][way][key]:5.1f}" for way in ("i2t", "t2i") for key in ("r1", "r5", "r10"))
        print(f"{row['name']:<18} dev Sum {row['dev']['sum']:.1f}  test {recalls}  Sum {row['test']['sum']:.1f}")
    return {"rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flickr8k", nargs="*", default=list(FLICKR8K), help="members of the first ensemble")
    parser.add_argument("--shipped", nargs="*", default=list(SHIPPED), help="members of the second")
    parser.add_argument("--limit", type=int, default=0, help="the first images only, for a quick look")
    parser.add_argument("--keep", type=Path, help="a folder for score matrices, which are not computed twice")
    arguments = parse_arguments(parser, "ensembles")
    protocol = f"limit-{arguments.limit}" if arguments.limit else "full"
    collection = data.load("flickr8k")
    chosen = {"flickr8k": arguments.flickr8k, "shipped": arguments.shipped}
    found = {
        name: measure(members, collection, protocol, arguments.keep) for name, members in chosen.items() if members
    }
    record(arguments, ("torch",), data="flickr8k", protocol=protocol, ensembles=found)


if __name__ == "__main__":
    main()
