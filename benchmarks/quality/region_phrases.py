"""How diverse are the phrases that describe a region, and are they about it? (HM-LSTM, Figure 6)

Every annotated region of some Flickr8K test photos that is neither tiny nor the whole photo gets five phrases of the
training sentences: the five nearest, as the paper retrieves them, and five that are chosen one after the other for what
they add (`seesay describe -m hmlstm`). Two phrases are alike by the content words that they share (Jaccard). A phrase
is about the region where it has a content word of what people said of it.

    SEESAY_DATA=… python -m benchmarks.quality.region_phrases [--weights hmlstm] [--photos 60]
"""

import argparse
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.engines import answering
from seesay.grounding.boxed_phrases import boxed_phrases
from seesay.grounding.describing import LARGEST, SMALLEST
from seesay.grounding.phrases import DIVERSITY, describe_boxes, read_bank
from seesay.images.extraction import features_of
from seesay.metrics.bootstrap import estimate
from seesay.models.pretrained import load
from seesay.text.function_words import FUNCTION_WORDS
from seesay.text.tokens import tokenize

N_PHRASES = 5
WAYS = {"nearest": 0.0, "diverse": DIVERSITY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="hmlstm")
    parser.add_argument("--photos", type=int, default=60, help="of the test split, from its beginning")
    arguments = parse_arguments(parser, "region_phrases")
    model = answering(load(arguments.weights))
    bank = read_bank(model)
    boxed = entities.attach(data.load("flickr8k").split("test"), data.locate("flickr30k_entities"))
    boxed = boxed.keep(lambda item: bool(item.boxes))
    boxed = replace(boxed, items=boxed.items[: arguments.photos])
    table = features_of(boxed.images, model.feature_spec, ("pooled", "map"))
    said: dict[int, dict[tuple[float, ...], set[str]]] = {}
    for phrase in boxed_phrases(boxed):
        for box in phrase.boxes.tolist():
            if SMALLEST <= (box[2] - box[0]) * (box[3] - box[1]) <= LARGEST:
                said.setdefault(phrase.item, {}).setdefault(tuple(box), set()).update(content(phrase.text))
    values: dict[str, dict[str, list[float]]] = {way: {"alike": [], "about": [], "words": []} for way in WAYS}
    photos: list[int] = []
    for item, regions in said.items():
        boxes = np.array(list(regions), np.float32)
        for way, diversity in WAYS.items():
            found = describe_boxes(model, bank, table.arrays([item]), boxes, N_PHRASES, diversity=diversity)
            for words, phrases in zip(regions.values(), found, strict=True):
                sets = [content(phrase.text) for phrase in phrases]
                values[way]["alike"].append(100 * float(np.mean([jaccard(*pair) for pair in combinations(sets, 2)])))
                values[way]["about"].append(100 * float(np.mean([bool(own & words) for own in sets])))
                values[way]["words"].append(float(len(set().union(*sets))))
        photos += [item] * len(regions)
    groups = np.array(photos)
    rows = {
        way: {name: asdict(estimate(np.array(some), groups)) for name, some in row.items()}
        for way, row in values.items()
    }
    print(rows)
    record(
        arguments, ("numpy",), weights=arguments.weights, data="flickr8k", split="test", n_photos=len(said),
        n_regions=len(photos), n_phrases=N_PHRASES, bank=len(bank), diversity=DIVERSITY, rows=rows,
    )  # fmt: skip


def content(text: str) -> set[str]:
    """The words of a phrase that name something."""
    return {word for word in tokenize(text) if word not in FUNCTION_WORDS}


def jaccard(one: set[str], other: set[str]) -> float:
    """What two sets have in common, from 0 to 1.

    Example:
        >>> jaccard({"red", "bus"}, {"bus"})
        0.5
    """
    return len(one & other) / len(one | other) if one | other else 1.0


if __name__ == "__main__":
    main()
