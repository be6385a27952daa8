"""How good are the correspondences between phrases and regions that HM-LSTM finds in its training set?

Nothing told it where anything is; the boxes of Flickr30k Entities judge what it found: the share of noun phrases whose
chosen region overlaps a box of their chain at IoU ≥ 0.5. Weights trained for more and more rounds show what each round
is worth. A random region, the whole picture and the upper bound stand beside them. The paper had people judge 2,000
correspondences, with eyes that forgive more than an IoU: 82 % were called correct.

Regions are chosen by the cosine, as the paper does, and by heat (see `seesay.training.alternating`).

    SEESAY_DATA=... python benchmarks/correspondences.py hmlstm-coarse hmlstm-flickr8k

With --draw FOLDER some training photos are drawn with their correspondences and trees (Figure 7).
"""

import argparse
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from recording import parse_arguments, record
from seesay import data
from seesay.data import Collection, entities
from seesay.drawing.sheets import save_picture
from seesay.drawing.trees import draw_correspondences
from seesay.errors import SeesayError
from seesay.evaluation.correspondences import Correspondence, judge_correspondences
from seesay.images.extraction import features_of
from seesay.images.io import open_image
from seesay.models.hmlstm import HMLSTM, MATCHES
from seesay.models.pretrained import load
from seesay.text.trees import parse


def label(name: str) -> str:
    """What weights are called in the result: a name, or that of the run whose folder was given."""
    path = Path(name)
    return path.parent.name if path.name == "weights" else path.name


def draw(model: HMLSTM, collection: Collection, found: list[Correspondence], folder: Path, n: int, seed: int) -> None:
    """The marked phrases of a sentence each of some photos, chosen at random among those with three or more."""
    by_sentence: dict[tuple[int, int], list[Correspondence]] = {}
    for one in found:
        by_sentence.setdefault((one.phrase.item, one.phrase.sentence), []).append(one)
    rich = [key for key, own in by_sentence.items() if len(own) >= 3]
    folder.mkdir(parents=True, exist_ok=True)
    for place in np.random.default_rng(seed).permutation(len(rich))[:n]:
        number, sentence = rich[place]
        item = collection.items[number]
        (tree,) = parse([item.sentences[sentence]])
        spans = {one.phrase.span: one.region for one in by_sentence[number, sentence]}
        boxes = {
            node_place: model.boxes[spans.pop(node.span)]
            for node_place, node in enumerate(tree.nodes())
            if node.is_noun_phrase and node.span in spans
        }
        assert item.image is not None
        drawn = draw_correspondences(open_image(item.image), tree, boxes)
        save_picture(drawn, folder / f"{Path(item.name).stem}-{sentence}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description="Quality of learned correspondences")
    parser.add_argument("weights", nargs="+", help="weights of HM-LSTM by name or folder, fewest rounds first")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--split", default="train")
    parser.add_argument("--entities", default="flickr30k_entities")
    parser.add_argument("--images", type=int, default=0, help="the first so many photos; 0 takes all")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="draw correspondences of the last weights")
    parser.add_argument("--n", type=int, default=8, help="how many photos to draw")
    parser.add_argument("--seed", type=int, default=0, help="chooses the photos to draw")
    arguments = parse_arguments(parser, "correspondences")

    collection = data.load(arguments.data).split(arguments.split)
    collection = entities.attach(collection, data.locate(arguments.entities)).keep(lambda item: bool(item.boxes))
    collection = replace(collection, items=collection.items[: arguments.images or None])
    rows = {}
    print(f"{'weights':<24} {'correct':>8} {'surer half':>10} {'random':>7} {'whole':>6} {'bound':>6} {'phrases':>8}")
    for name in arguments.weights:
        model = load(name)
        if not isinstance(model, HMLSTM):
            raise SeesayError(f"{name} finds no correspondences", allowed="weights of the family hmlstm")
        table = features_of(collection.images, model.feature_spec, model.outputs)
        for match in MATCHES:
            maps = features_of(collection.images, model.feature_spec, ("pooled", "map")) if match == "heat" else None
            report, found = judge_correspondences(model, collection, table, maps)
            shown = f"{label(name)}, {match}"
            rows[shown] = {key: round(value, 2) for key, value in asdict(report).items()}
            print(
                f"{shown:<24} {report.correct:8.1f} {report.confident:10.1f} {report.random:7.1f} "
                f"{report.whole:6.1f} {report.upper_bound:6.1f} {report.n_phrases:8,}"
            )
        if arguments.draw and name == arguments.weights[-1]:
            draw(model, collection, found, arguments.draw, arguments.n, arguments.seed)
    record(
        arguments,
        ("torch", "numpy"),
        data=arguments.data,
        split=arguments.split,
        n_images=len(collection),
        iou=0.5,
        rows=rows,
    )


if __name__ == "__main__":
    main()
