"""By which weights does `seesay explain` point best by default, and how far do its maps depend on the sentence?

    SEESAY_DATA=… python -m benchmarks.quality.heat vse dvsa --split dev --photos 200

The default method is alignment, which explains any joint embedding or aligner. Its map is measured twice: as it is
drawn, the sum of the maps of single words, and for the phrase as a whole, as `seesay ground` reads it. Pointing is on
the phrases of Flickr30k Entities. Dependence is the mean correlation between the map of a photo's own sentence and
those of three sentences of other photos. The record keeps the rows of the other split.

Decided before it was run: the best weights for the default are those whose drawn maps point best on 200 dev photos
among those with a dependence of .5 or less; test says what they reach.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Collection, entities
from seesay.engines import answering
from seesay.evaluation.dependence import measure_dependence
from seesay.evaluation.explanations import compare_pointing, draw_photos, point_by_alignment
from seesay.evaluation.taking_away import Floats
from seesay.explainers.explaining import explain
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.grounding.heat import heat_maps, point_at, term_vectors
from seesay.images.extraction import FeatureTable, features_of
from seesay.layers.dropout import without_dropout
from seesay.models.base import Matcher
from seesay.models.pretrained import load
from seesay.runtime.protocol import Answering

METHOD = "alignment"
DRAWN, WHOLE = "as drawn", "phrase as a whole"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", nargs="+", help="names or folders; others are compared with the first")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--photos", type=int, default=200, help="photos whose phrases are pointed at, drawn at random")
    parser.add_argument("--sentences", type=int, default=50, help="of these, photos whose maps are compared")
    arguments = parse_arguments(parser, "heat")
    torch.set_num_threads(1)
    splits: dict[str, Any] = {}
    if arguments.output.is_file():
        splits = json.loads(arguments.output.read_text(encoding="utf-8"))["splits"]
    splits[arguments.split] = compare_weights(arguments)
    record(arguments, ("torch", "numpy"), method=METHOD, data="flickr8k", splits=splits)


def compare_weights(arguments: argparse.Namespace) -> dict[str, Any]:
    """Pointing and dependence of all weights on the same photos."""
    collection = entities.attach(data.load("flickr8k").split(arguments.split), data.locate("flickr30k_entities"))
    drawn = draw_photos(collection, arguments.photos, np.random.default_rng(0))
    few = Collection(drawn.name, drawn.root, drawn.kind, drawn.items[: arguments.sentences])
    phrases = boxed_phrases(drawn)
    points: dict[str, Floats] = {}
    dependence: dict[str, float] = {}
    for name in arguments.weights:
        model = load(name)
        table = features_of(drawn.images, model.feature_spec, ("pooled", "map"))
        with without_dropout(model):
            points[f"{name}, {DRAWN}"] = point_as_drawn(model, phrases, table)
            points[f"{name}, {WHOLE}"] = point_by_alignment(model, phrases, table)
            reader = answering(model)
            found = measure_dependence(partial(maps_of_photo, reader, table), few)
        dependence |= {f"{name}, {way}": value for way, value in found.correlation.items()}
        print(name, found.correlation, flush=True)
    first = f"{arguments.weights[0]}, {DRAWN}"
    shares, better = compare_pointing(points, phrases, [name for name in points if name != first])
    for name, share in shares.items():
        print(f"{name:28}", share, f"dependence {dependence[name]:.3f}")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "n_photos": len(drawn),
        "n_phrases": len(phrases),
        "n_sentences": len(few),
        "rows": {
            name: {
                "pointing": asdict(share),
                "dependence": dependence[name],
                **({"better_than_first": asdict(better[name][first])} if name in better else {}),
            }
            for name, share in shares.items()
        },
    }


def maps_of_photo(reader: Answering, table: FeatureTable, photo: int, sentence: str) -> dict[str, Floats]:
    """Both maps (h, w) of a photo and a sentence, by how they are read."""
    features = table.arrays([photo])
    whole = heat_maps(reader, features, term_vectors(reader, [sentence]))[0]
    return {DRAWN: explain(reader, features, sentence, METHOD).map, WHOLE: whole}


def point_as_drawn(model: Matcher, phrases: Sequence[BoxedPhrase], table: FeatureTable) -> Floats:
    """Where the drawn map of each phrase is hottest: (n_phrases, 2)."""
    reader = answering(model)
    found: dict[tuple[int, str], Floats] = {}
    for phrase in phrases:
        if (key := (phrase.item, phrase.text)) not in found:
            drawn = explain(reader, table.arrays([phrase.item]), phrase.text, METHOD).map
            found[key] = point_at(drawn[None])[0]
    return np.stack([found[phrase.item, phrase.text] for phrase in phrases])


if __name__ == "__main__":
    main()
