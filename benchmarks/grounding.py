"""Which way of pointing, of drawing a box and of joining words is best? Chosen on dev, never on test.

Heat maps of all boxed phrases of the dev photos are computed once. Each choice is then varied while the others stay as
they are in `seesay.grounding`: how far heat is spread before its peak is pointed at, where a place begins to be hot and
how area counts when a box is drawn, which regions there are to choose from, whether a phrase is read alone or in its
sentence, and how much neighbouring words gain by sharing a box. The last is judged by single words: of those within
boxed phrases, how many were given a box whose middle lies in the phrase's own.

    SEESAY_DATA=... python benchmarks/grounding.py --weights dvsa
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from recording import parse_arguments, record
from seesay import data
from seesay.data import Collection, entities
from seesay.evaluation.grounding import READINGS, BoxedPhrase, boxed_phrases, phrase_vectors
from seesay.grounding.chains import align_words
from seesay.grounding.heat import box_overlaps, heat_maps, point_at
from seesay.images.extraction import FeatureTable, features_of
from seesay.images.proposals import proposals_of
from seesay.images.regions import Boxes
from seesay.metrics.grounding import box_accuracy, pointing_game
from seesay.models.aligner import Aligner, load_aligner
from seesay.text.function_words import name_things
from seesay.text.tokens import tokenize

BLURS = (0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
RULES = [(f, r, p) for f in (-0.5, -0.25, 0.0, 0.25, 0.5) for r in (0.5, 1.0, 2.0) for p in (0.4, 0.5, 0.6, 0.7, 0.8)]
SCHEMES = ("windows-20", "windows-100", "search-20", "search-50", "search-100")
COUPLINGS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)

Heat = NDArray[np.float64]


def heat_of(model: Aligner, table: FeatureTable, phrases: Sequence[BoxedPhrase], vectors: torch.Tensor) -> Heat:
    places = np.array([phrase.item for phrase in phrases])
    maps = [heat_maps(model, table.rows([item]), vectors[places == item]) for item in np.unique(places)]
    return np.concatenate(maps)  # phrases stand picture after picture


def boxes_by(rule: tuple[float, float, float], heat: Heat, places: NDArray[np.intp], regions: list[Boxes]) -> Heat:
    floor, ramp, power = rule
    drawn = np.zeros((len(heat), 4))
    for item in np.unique(places):
        own = np.flatnonzero(places == item)
        overlaps = box_overlaps(heat[own], regions[item], floor=floor, ramp=ramp, area_power=power)
        drawn[own] = regions[item][overlaps.argmax(axis=1)]
    return drawn


def word_accuracy(
    model: Aligner, table: FeatureTable, collection: Collection, phrases: Sequence[BoxedPhrase], regions: list[Boxes]
) -> dict[str, float]:
    """Percent of the words of boxed phrases whose box has its middle in one of the phrase's, for each coupling."""
    by_sentence: dict[tuple[int, int], list[BoxedPhrase]] = {}
    for phrase in phrases:
        by_sentence.setdefault((phrase.item, phrase.sentence), []).append(phrase)
    hits: dict[float, list[bool]] = {coupling: [] for coupling in COUPLINGS}
    for (item, sentence), own in by_sentence.items():
        with torch.inference_mode():
            texts = model.encode_texts([collection.items[item].sentences[sentence]])
        words = tokenize(collection.items[item].sentences[sentence])
        n_words = min(int(texts.lengths[0]), max(phrase.span[1] for phrase in own))
        heat = heat_maps(model, table.rows([item]), texts.states[0, :n_words])
        for coupling, found in hits.items():
            for part in align_words(heat, regions[item], coupling, laid=name_things(words[:n_words])):
                box = regions[item][part.region]
                x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
                for phrase in own:
                    left, top, right, bottom = phrase.boxes.T
                    inside = bool(((x >= left) & (x <= right) & (y >= top) & (y <= bottom)).any())
                    n_shared = min(part.last, phrase.span[1]) - max(part.first, phrase.span[0])
                    found += [inside] * max(0, n_shared)
    return {f"{coupling:g}": round(100 * float(np.mean(found)), 2) for coupling, found in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Choices of phrase grounding, on dev")
    parser.add_argument("--weights", default="dvsa")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--entities", default="flickr30k_entities")
    parser.add_argument("--images", type=int, default=300, help="the first so many photos; 0 takes all")
    arguments = parse_arguments(parser, "grounding")

    model = load_aligner(arguments.weights)
    collection = data.load(arguments.data).split("dev")
    collection = entities.attach(collection, data.locate(arguments.entities)).keep(lambda item: bool(item.boxes))
    collection = replace(collection, items=collection.items[: arguments.images or None])
    table = features_of(collection.images, model.feature_spec, ("pooled", "map"))
    phrases = boxed_phrases(collection)
    truth = [phrase.boxes for phrase in phrases]
    places = np.array([phrase.item for phrase in phrases])
    heats = {
        reading: heat_of(model, table, phrases, phrase_vectors(model, collection, phrases, reading))
        for reading in READINGS
    }
    print(f"{len(phrases)} phrases of {len(collection)} dev photos")
    blurs = {
        reading: {f"{blur:g}": round(pointing_game(point_at(heat, blur), truth), 2) for blur in BLURS}
        for reading, heat in heats.items()
    }
    for reading, row in blurs.items():
        print(f"pointing, read as a {reading}, by blur:", row)
    heat = heats["phrase"]
    schemes, rules = {}, {}
    for scheme in SCHEMES:
        regions = proposals_of(collection.images, scheme)
        figures = {rule: box_accuracy(boxes_by(rule, heat, places, regions), truth, several="union") for rule in RULES}
        best = max(figures, key=lambda rule: figures[rule])
        schemes[scheme] = {"iou50": round(figures[best], 2), "floor, ramp, area power": best}
        print(f"{scheme}: {figures[best]:.2f} with floor, ramp, area power {best}")
        if scheme == SCHEMES[-1]:
            rules = {" ".join(f"{part:g}" for part in rule): round(value, 2) for rule, value in figures.items()}
    couplings = word_accuracy(model, table, collection, phrases, proposals_of(collection.images, SCHEMES[-1]))
    print("words in their phrase's box, by coupling:", couplings)
    record(
        arguments,
        ("torch", "numpy"),
        weights=arguments.weights,
        data=arguments.data,
        split="dev",
        n_images=len(collection),
        n_phrases=len(phrases),
        pointing_by_blur=blurs,
        iou50_by_scheme=schemes,
        iou50_by_rule=rules,
        words_by_coupling=couplings,
    )


if __name__ == "__main__":
    main()
