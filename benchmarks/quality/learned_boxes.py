"""What boxes that were learned from boxes give, beside heat alone: pointing and IoU, by kind of phrase.

On photos of Flickr8K with the boxes of Flickr30k Entities (`--split`), and on photos that are unlike them: the phrases
of ReferItGame on its dev photos, which are of IAPR TC-12. No box of these was learned from.

    SEESAY_DATA=… python -m benchmarks.quality.learned_boxes --split dev --photos 300 --referit 60
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Box, Collection, Item, Phrase, entities
from seesay.data.examples import leave_out_measured
from seesay.data.iapr import choose_dev
from seesay.evaluation.grounding import evaluate_grounding
from seesay.evaluation.protocols import EvaluationSet
from seesay.runtime.matching import Model

WEIGHTS = "dvsa"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", default="dev", choices=("dev", "test"))
    parser.add_argument("--photos", type=int, default=300)
    parser.add_argument("--referit", type=int, default=60)
    arguments = parse_arguments(parser, "learned_boxes")
    model = Model(WEIGHTS, threads=1)
    flickr8k = entities.attach(data.load("flickr8k").split(arguments.split), data.locate("flickr30k_entities"))
    flickr8k = flickr8k.keep(lambda item: bool(item.boxes))
    flickr8k = replace(flickr8k, items=flickr8k.items[: arguments.photos])
    parts = {f"flickr8k/{arguments.split}": flickr8k}
    if arguments.referit:
        parts["referit/dev"] = read_referit(arguments.referit)
    rows = {name: measure(model, part) for name, part in parts.items()}
    record(arguments, (), weights=WEIGHTS, rows=rows)


def measure(model: Model, collection: Collection) -> dict[str, Any]:
    measured = EvaluationSet(collection, on_progress=lambda done, of: print(f"{done} of {of}", end="\r", flush=True))
    found: dict[str, Any] = evaluate_grounding(model, measured).to_report()["grounding"]
    print(collection.name, found["pointing"], found["iou50"], found["beside"].get("without boxes"))
    return found


def read_referit(n: int) -> Collection:
    """Dev photos of ReferIt on which IAPR TC-12 is not measured: every phrase is a sentence with one box."""
    collection = data.load("referit", images=data.locate("iapr") / "images").split("dev").with_images()
    collection = leave_out_measured(collection, data.load("iapr"))
    chosen = choose_dev((item.name for item in collection.items), n)
    paths = {item.name: item.image for item in collection.items if item.name in chosen}
    return replace(collection, items=tuple(_items(data.locate("referit") / "referit.jsonl", paths)))


def _items(file: Path, paths: dict[str, Path | None]) -> Iterator[Item]:
    for line in file.read_text().splitlines():
        row = json.loads(line)
        if row["file"] not in paths:
            continue
        sides = row["width"], row["height"]
        sentences: list[str] = []
        boxes, phrases = list[Box](), list[Phrase]()
        for text, *corners in row["phrases"]:
            left, top, right, bottom = (min(1.0, max(0.0, x / sides[at % 2])) for at, x in enumerate(corners))
            words = " ".join(text.split())
            if not words or left >= right or top >= bottom:
                continue
            chain = str(len(sentences) + 1)
            phrases.append(Phrase(len(sentences), 0, len(words.split()), words, chain, ("referit",)))
            boxes.append(Box(chain, left, top, right, bottom))
            sentences.append(words)
        if sentences:
            yield Item(row["file"], paths[row["file"]], tuple(sentences), "dev", tuple(boxes), tuple(phrases))


if __name__ == "__main__":
    main()
