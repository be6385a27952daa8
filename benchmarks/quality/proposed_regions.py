"""HM-LSTM's correspondences where phrases choose among proposals of selective search, as in the paper, or windows.

    SEESAY_DATA=… python -m benchmarks.quality.proposed_regions hmlstm --schemes windows-20 search-20 --photos 200

The weights are those that learned with fixed windows: only the regions that a phrase can choose from are others.
Regions are chosen by the cosine, as in the paper, and by heat, from all of them and from those other than the whole
image.
"""

import argparse
from dataclasses import asdict, replace
from typing import cast

import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.evaluation.correspondences import judge_correspondences
from seesay.evaluation.tasks.base import round_all
from seesay.evaluation.tasks.correspondences import PARTS_ONLY
from seesay.images.extraction import features_of
from seesay.images.proposals import proposals_of
from seesay.models.hmlstm import HMLSTM, MATCHES
from seesay.models.pretrained import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="a name or folder")
    parser.add_argument("--schemes", nargs="+", default=["windows-20", "search-20"], help="where regions come from")
    parser.add_argument("--split", default="train")
    parser.add_argument("--photos", type=int, default=200, help="the first so many")
    arguments = parse_arguments(parser, "proposed_regions")
    torch.set_num_threads(1)
    model = cast(HMLSTM, load(arguments.weights))
    images = data.load("flickr8k").split(arguments.split)
    images = replace(images, items=images.items[: arguments.photos])
    boxed = entities.attach(images, data.locate("flickr30k_entities")).keep(lambda item: bool(item.boxes))
    maps = features_of(boxed.images, model.feature_spec, ("pooled", "map"))
    rows = {}
    for scheme in arguments.schemes:
        proposals = proposals_of(boxed.images, scheme)
        for parts_only in (False, True):
            for match in MATCHES:
                name = f"{match}{PARTS_ONLY if parts_only else ''}, {scheme}"
                warm = maps if match == "heat" else None
                found, _ = judge_correspondences(model, boxed, maps, warm, parts_only=parts_only, proposals=proposals)
                rows[name] = round_all(asdict(found))
                print(f"{name:32}", {key: rows[name][key] for key in ("correct", "correct_30", "centred")}, flush=True)
    record(
        arguments, ("torch", "numpy"), weights=arguments.weights, data="flickr8k", split=arguments.split,
        n_images=len(boxed), rows=rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
