"""Which model finds the phrases that people wrote for a region? (HM-LSTM Table 4, on the boxes of Flickr30k Entities.)

Annotated regions of the test photos against all annotated phrases, for any weights: joint embeddings see a region as a
picture of its own, aligners as a region. `distinct` phrases count once, `all` as often as they were written.

    SEESAY_DATA=... python benchmarks/region_phrases.py hmlstm dvsa vse
"""

import argparse
from pathlib import Path

from recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.evaluation.phrases import CANDIDATES, evaluate_phrases
from seesay.metrics.grounding import RegionPhraseReport
from seesay.models.pretrained import load


def label(name: str) -> str:
    """What weights are called in the result: a name, or that of the run whose folder was given."""
    path = Path(name)
    return path.parent.name if path.name == "weights" else path.name


def line(name: str, way: str, report: RegionPhraseReport) -> str:
    cells = [f"{name:<24} {way:<9}"]
    for direction in (report["region_to_phrase"], report["phrase_to_region"]):
        cells.append(
            f"{direction['r1']:6.1f} {direction['r5']:6.1f} {direction['r10']:6.1f} {direction['median']:7.0f}"
        )
    return "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description="Region-phrase ranking of several models")
    parser.add_argument("weights", nargs="+", help="any weights by name or folder")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--split", default="test")
    parser.add_argument("--entities", default="flickr30k_entities")
    arguments = parse_arguments(parser, "region_phrases")

    collection = data.load(arguments.data).split(arguments.split)
    collection = entities.attach(collection, data.locate(arguments.entities)).keep(lambda item: bool(item.boxes))
    rows = {}
    header = f"{'R@1':>6} {'R@5':>6} {'R@10':>6} {'median':>7}"
    print(f"{'':<34}  {'phrases for a region':^28}  {'regions for a phrase':^28}")
    print(f"{'weights':<24} {'phrases':<9}  {header}  {header}")
    for number, name in enumerate(arguments.weights):
        found = evaluate_phrases(load(name), collection)
        rows[label(name)] = {way: found.rows[way]["model"] for way in CANDIDATES}
        for way in CANDIDATES:
            print(line(label(name), way, found.rows[way]["model"]))
        if number == len(arguments.weights) - 1:
            rows["random"] = {way: found.rows[way]["random"] for way in CANDIDATES}
            for way in CANDIDATES:
                print(line("random", way, found.rows[way]["random"]))
            print(f"{found.n_regions:,} regions of {found.n_images:,} photos, {found.n_candidates} phrases")
            sizes = {"n_regions": found.n_regions, "n_images": found.n_images, "n_phrases": found.n_candidates}
    record(arguments, ("torch", "numpy"), data=arguments.data, split=arguments.split, **sizes, rows=rows)


if __name__ == "__main__":
    main()
