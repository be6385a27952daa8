"""What makes short queries find more: weights of the parts of a vector, templates, a contrast with other colours?

Captions taught the models whole sentences; people type "red shirt", "two dogs", "surfing". Such phrases are taken from
the captions of the dev photos of three collections, by their words alone, and photos fit whose describers used them:
many more show the thing, so the figures are low, and only their differences say something. Every way changes nothing
but the vector of the query:

* hubness × s: what the hubness of a photo counts for, as a share of what it counts for with sentences (what ships is
  chosen by `seesay tune eye --only short`);
* vse × s: what the embedding beside the eye's counts for, likewise;
* templates: the mean of the vectors of the query and of sentences around it;
* contrast a: the query plus a times its difference from the mean of the same thing in other colours or numbers.

    SEESAY_DATA=… python -m benchmarks.quality.short_queries [--vectors DIR]
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Collection
from seesay.runtime.matching import Model
from seesay.text.function_words import FUNCTION_WORDS
from seesay.text.tokens import tokenize

COLLECTIONS = ("flickr8k", "coco-all", "iapr")
COLOURS = ("red", "blue", "green", "yellow", "white", "black", "brown", "pink", "orange")
NUMBERS = ("one", "two", "three", "four", "five")
_DOERS = "is are man men woman women boy girl boys dog dogs people person child children kids"
DOERS = frozenset(_DOERS.split())
N_OF = {"colour": 25, "count": 12, "activity": 20, "object": 25}
"""Queries of each kind and collection."""
FEWEST, MOST = 5, 120
"""Photos that a query is said of."""
AT = 5
TEMPLATES = {
    "colour": ("a {}", "a photo of a {}", "a person with a {}"),
    "count": ("a photo of {}", "there are {}", "{} in the picture"),
    "activity": ("someone {}", "a photo of people {}", "a person is {}"),
    "object": ("a {}", "a photo of a {}", "there is a {} in the picture"),
}
WAYS: dict[str, dict[str, float]] = {
    "as sentences": {},
    "hubness × 0.5": {"hubness": 0.5},
    "hubness × 0": {"hubness": 0.0},
    "hubness × -0.5": {"hubness": -0.5},
    "vse × 0.5": {"beside": 0.5},
    "vse × 2": {"beside": 2.0},
    "templates": {"templates": 1.0},
    "contrast 0.5": {"contrast": 0.5},
    "hubness × 0, vse × 2": {"hubness": 0.0, "beside": 2.0},
    "hubness × 0, templates": {"hubness": 0.0, "templates": 1.0},
    "hubness × 0, contrast 0.5": {"hubness": 0.0, "contrast": 0.5},
}
Floats = NDArray[np.floating[Any]]
Said = dict[str, dict[str, set[int]]]
"""By kind and query, the photos that it is said of."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", type=Path, metavar="DIR", help="keep the photos' vectors here, for the next time")
    arguments = parse_arguments(parser, "short_queries")
    model = Model("eye", threads=1)
    found: dict[str, Any] = {way: {} for way in WAYS}
    queries: dict[str, dict[str, int]] = {}
    for name in COLLECTIONS:
        dev = data.load(name).split("dev")
        said = gather(dev)
        queries[name] = {kind: len(own) for kind, own in said.items()}
        images = photo_vectors(model, dev, arguments.vectors and arguments.vectors / f"{name}-dev.npz")
        texts = encode(model, said)
        for way, settings in WAYS.items():
            read: Any = partial(vector_of, texts=texts, model=model)
            found[way][name] = measure(said, images, partial(read, **settings))
            print(f"{way:28} {name:10} {found[way][name]}", flush=True)
    record(arguments, ("numpy",), split="dev", weights="eye", queries=queries, average_precision_and_p5=found)


def gather(dev: Collection, n_of: Mapping[str, int] = N_OF) -> Said:
    """Phrases of captions and the photos whose describers used them, a few of each kind, drawn with a fixed seed."""
    said: dict[str, defaultdict[str, set[int]]] = {kind: defaultdict(set) for kind in n_of}
    for place, item in enumerate(dev.items):
        for sentence in item.sentences:
            for kind, query in phrases_of([word for word in tokenize(sentence) if re.fullmatch("[a-z]+", word)]):
                said[kind][query].add(place)
    rng = np.random.default_rng(0)
    drawn: Said = {}
    for kind, own in said.items():
        fit = sorted(query for query, photos in own.items() if FEWEST <= len(photos) <= MOST)
        drawn[kind] = {fit[row]: own[fit[row]] for row in rng.permutation(len(fit))[: n_of[kind]]}
    return drawn


def phrases_of(words: list[str]) -> Iterable[tuple[str, str]]:
    """The short queries in a caption, with their kinds."""
    for before, word, after in zip(words, words[1:], [*words[2:], "."], strict=False):
        ends = after in FUNCTION_WORDS or after == "."
        if before in COLOURS and word not in COLOURS and word not in FUNCTION_WORDS and ends:
            yield "colour", f"{before} {word}"
        if before in NUMBERS and word not in FUNCTION_WORDS and ends:
            yield "count", f"{before} {word}"
        if before in ("a", "an", "the") and word not in FUNCTION_WORDS and ends:
            yield "object", word
        if before in DOERS and word.endswith("ing"):
            yield "activity", word


def photo_vectors(model: Model, dev: Collection, kept: Path | None) -> Floats:
    if kept and kept.is_file():
        loaded: Floats = np.load(kept)["eye"]
        return loaded
    vectors = np.concatenate([model.encode_images(model.features([path])) for path in dev.images])
    if kept:
        np.savez(kept, eye=vectors)
    return vectors


def others_of(query: str) -> list[str]:
    """The same thing in every other colour, or number."""
    first, _, thing = query.partition(" ")
    kinds = next((each for each in (COLOURS, NUMBERS) if first in each), ())
    return [f"{other} {thing}" for other in kinds if other != first and thing]


def encode(model: Model, said: Said) -> dict[str, Floats]:
    """The vectors of all texts that a way needs."""
    texts: dict[str, None] = {}
    for kind, own in said.items():
        for query in own:
            texts.update(dict.fromkeys([query, *(each.format(query) for each in TEMPLATES[kind]), *others_of(query)]))
    order = sorted(texts, key=lambda text: len(text.split()))
    rows = np.concatenate([model.encode_texts(order[at : at + 64]) for at in range(0, len(order), 64)])
    return dict(zip(order, rows, strict=True))


def vector_of(
    kind: str,
    query: str,
    *,
    texts: dict[str, Floats],
    model: Model,
    hubness: float = 1.0,
    beside: float = 1.0,
    templates: float = 0.0,
    contrast: float = 0.0,
) -> Floats:
    """The vector of a query: the eye's, that of the embedding beside it, and what hubness counts for."""

    def unit(text: str) -> Floats:
        return texts[text][:-1] / np.linalg.norm(texts[text][:-1])

    used = [query, *(each.format(query) for each in TEMPLATES[kind])] if templates else [query]
    vector = np.mean([unit(text) for text in used], axis=0)
    vector /= np.linalg.norm(vector)
    if contrast and (others := others_of(query)):
        vector += contrast * (unit(query) - np.mean([unit(text) for text in others], axis=0))
    vector[int(model.config["dim"]) :] *= beside**0.5
    # What hubness counts for with sentences: the vectors of short texts have their chosen share of it already.
    return np.append(vector / np.linalg.norm(vector), -hubness * float(model.config["hub_weight"]))


def measure(said: Said, images: Floats, vector: Callable[[str, str], Floats]) -> dict[str, tuple[float, float]]:
    """Mean average precision and precision of the first five, in percent, by kind of query."""
    found = {}
    for kind, own in said.items():
        pairs = [precisions(images @ vector(kind, query), photos) for query, photos in own.items()]
        average, first = np.mean(pairs, axis=0)
        found[kind] = (round(100 * float(average), 1), round(100 * float(first), 1))
    return found


def precisions(scores: Floats, photos: set[int]) -> tuple[float, float]:
    fits = np.isin(np.argsort(-scores, kind="stable"), list(photos))
    at = fits.cumsum() / np.arange(1, len(fits) + 1)
    return float(at[fits].mean()), float(fits[:AT].mean())


if __name__ == "__main__":
    main()
