"""How long the vectors of words are for alignment models, as in Table 1 of DVSA's supplement.

A length is counted in lengths of the sentence's average word, or taken as it is where the weights have free lengths.
Beside the longest and shortest words stand the rank correlation with the idf, and the average of words that name
something and of those that only hold a sentence together.

Figure 1 of the supplement shows long and short regions. Where regions have free lengths too, it is counted how often a
region around a thing that people marked (IoU ≥ 0.5 with a box of Flickr30k Entities) is longer than another region of
the same photo, and beside it how often it is larger.

    SEESAY_DATA=… python -m benchmarks.quality.magnitudes [--weights dvsa …]
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.engines import answering
from seesay.grounding.heat import region_saliences
from seesay.grounding.magnitudes import WordMagnitude, has_free_lengths, spearman, word_magnitudes
from seesay.images.extraction import features_of
from seesay.metrics.bootstrap import estimate
from seesay.metrics.grounding import box_iou
from seesay.models.aligner import Aligner, load_aligner
from seesay.text.function_words import FUNCTION_WORDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", nargs="+", default=["dvsa"])
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("-n", type=int, default=20)
    arguments = parse_arguments(parser, "magnitudes")
    sentences = data.load("flickr8k").split("test").sentences
    rows: list[dict[str, Any]] = []
    for name in arguments.weights:
        model = load_aligner(name)
        reader = answering(model)
        relative = not has_free_lengths(reader)
        found = word_magnitudes(reader, sentences, min_count=arguments.min_count, relative=relative)
        row: dict[str, Any] = {"weights": model.weights.name if model.weights else name, "n_words": len(found)}
        row["relative"] = relative
        row["spearman_idf"] = round(spearman([word.magnitude for word in found], [word.idf for word in found]), 4)
        for kind, own in (("function", True), ("naming", False)):
            lengths = [word.magnitude for word in found if (word.word in FUNCTION_WORDS) == own]
            row[kind] = {"n": len(lengths), "mean": round(sum(lengths) / len(lengths), 4)}
        if not relative:
            row["regions"] = compare_regions(model)
        row |= {"longest": _table(found[: arguments.n]), "shortest": _table(found[::-1][: arguments.n])}
        rows.append(row)
        print({key: value for key, value in row.items() if key not in ("longest", "shortest")}, flush=True)
    record(arguments, ("torch",), data="flickr8k test", min_count=arguments.min_count, rows=rows)


def compare_regions(model: Aligner) -> dict[str, Any]:
    """How often a region around a marked thing is longer than one around none, in percent; 50 is chance."""
    collection = entities.attach(data.load("flickr8k").split("test"), data.locate("flickr30k_entities"))
    collection = collection.keep(lambda item: bool(item.boxes))
    table = features_of(collection.images, model.feature_spec, model.outputs)
    places = [range(start, min(start + 256, len(table))) for start in range(0, len(table), 256)]
    reader = answering(model)
    lengths = np.concatenate([region_saliences(reader, table.arrays(some), model.boxes) for some in places])[:, 1:]
    boxes = model.boxes[1:]  # without the whole image
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    longer: list[float] = []
    larger: list[float] = []
    for item, own in zip(collection.items, lengths, strict=True):
        marked = np.array([(box.left, box.top, box.right, box.bottom) for box in item.boxes])
        around = box_iou(boxes, marked).max(1) >= 0.5
        if around.any() and not around.all():
            for found, measure in ((longer, own), (larger, areas)):
                difference = measure[around][:, None] - measure[~around]
                found.append(100 * float((difference > 0).mean() + 0.5 * (difference == 0).mean()))
    photos = np.arange(len(longer))
    return {
        "n_photos": len(longer),
        "longest": round(float(lengths.max()), 3),
        "shortest": round(float(lengths.min()), 3),
        "longer": asdict(estimate(np.array(longer), photos)),
        "larger": asdict(estimate(np.array(larger), photos)),
    }


def _table(words: Sequence[WordMagnitude]) -> list[list[Any]]:
    return [[word.word, round(word.magnitude, 3)] for word in words]


if __name__ == "__main__":
    main()
