"""How much do matchers find together? Members alone and the sum of their standardised scores, on Flickr8K.

Weights are chosen on dev, figures are of test. One ensemble has members that learned from Flickr8K's training images
alone, the other those that ship for use; both are measured as plain sums and, where the first member has a file of
hubness (`seesay tune vse --only hubness` writes that of `vse`), corrected for hubness; so is the embedding alone. Every
member's scores of a split are computed once; a captioner's likelihoods take most of the time.

    SEESAY_DATA=… python -m benchmarks.quality.ensembles [--flickr8k NAME …] [--shipped NAME …] [--keep DIR]
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.recording import parse_arguments, record
from benchmarks.runs import score_once
from seesay import data
from seesay.catalogue.ensembles import Ensemble, Scored
from seesay.catalogue.weights import find
from seesay.data import Collection
from seesay.metrics.retrieval import retrieval_report
from seesay.training.finishing.ensemble import choose_weights

FLICKR8K = tuple(
    f"runs/{name}-flickr8k{rest}/weights"
    for name, rest in (("vse", ""), ("dvsa", ""), ("hmlstm", ""), ("smlstm", ""), ("mrnn", "-self-normalised"))
)
SHIPPED = ("vse", "dvsa", "hmlstm", "smlstm", "mrnn")


def scores_of(names: list[str], split: Collection, protocol: str, keep: Path | None) -> tuple[list[Scored], Any]:
    """What members say, and the image of each text."""
    parts: list[Scored] = []
    image_of = None
    for name in names:
        said, image_of = score_once(name, split, protocol, keep)
        parts.append(said)
    return parts, image_of


def measure(names: list[str], collection: Collection, protocol: str, keep: Path | None) -> dict[str, Any]:
    """The rows of a table."""
    dev, dev_owners = scores_of(names, collection.split("dev"), protocol, keep)
    test, owners = scores_of(names, collection.split("test"), protocol, keep)
    rows: list[dict[str, Any]] = [
        {
            "name": find(name).name,
            "dev": retrieval_report(mine.scores, dev_owners),
            "test": retrieval_report(own.scores, owners),
        }
        for name, mine, own in zip(names, dev, test, strict=True)
    ]

    def add_row(kind: str, members: slice, corrected: bool) -> None:
        mine, own = ([said if corrected else Scored(said.scores) for said in found[members]] for found in (dev, test))
        together = choose_weights(names[members], mine, dev_owners, "flickr8k/dev")
        rows.append(
            {
                "name": kind,
                "members": describe(together),
                "dev": retrieval_report(together.join(mine), dev_owners),
                "test": retrieval_report(together.join(own), owners),
            }
        )

    add_row("ensemble", slice(None), corrected=False)
    if dev[0].of_images is not None:
        add_row("first, corrected for hubness", slice(1), corrected=True)
        add_row("ensemble, corrected for hubness", slice(None), corrected=True)
    for row in rows:
        recalls = " ".join(f"{row['test'][way][key]:5.1f}" for way in ("i2t", "t2i") for key in ("r1", "r5", "r10"))
        print(f"{row['name']:<29} dev Sum {row['dev']['sum']:.1f}  test {recalls}  Sum {row['test']['sum']:.1f}")
    return {"rows": rows}


def describe(ensemble: Ensemble) -> list[dict[str, Any]]:
    """The members by name, with what they count."""
    return [
        {
            "name": find(member.name).name,
            **{key: getattr(member, key) for key in ("weight", "of_images", "of_texts")},
        }
        for member in ensemble.members
    ]


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
    found = {}
    for name, members in chosen.items():
        if members:
            found[name] = measure(members, collection, protocol, arguments.keep)
    record(arguments, ("torch",), data="flickr8k", protocol=protocol, ensembles=found)


if __name__ == "__main__":
    main()
