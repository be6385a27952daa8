"""Do the regions that a library keeps help with short queries: colours, counts, activities, things?

Search reranks a few photos by `dvsa`, whose weight was chosen on whole sentences. Here the same phrases of captions as
in `benchmarks.quality.short_queries` are asked, more of each kind, and the best k photos of the eye are reranked by

* alignment: the score of `dvsa` as search uses it, at other weights;
* best region: the similarity of the region that fits the phrase best, as in `seesay search --regions`;
* standing out: how much that region fits better than the mean region;
* against others: how much better it fits than the best region for the same thing in another colour or number;
* that of the thing: the same in the region that fits the thing alone best ("shirt" of "red shirt");
* many regions: of counts, how many regions fit the thing almost as well as the best one.

A score is brought to the mean and spread of the eye's over those k photos, and the two are blended by a weight.

    SEESAY_DATA=… python -m benchmarks.quality.short_regions [--photos N] [--vectors DIR]
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.short_queries import COLLECTIONS, NUMBERS, Floats, gather, others_of, precisions
from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Collection
from seesay.runtime.matching import Model
from seesay.settings.blend import Blend

MORE = {"colour": 60, "count": 40, "activity": 40, "object": 40}
"""Queries of each kind and collection."""
KS, WEIGHTS = (20, 50, 100), (0.2, 0.4, 0.6, 0.8)
K = 50
"""Photos that are reranked by other scores than the alignment."""
ALMOST = 0.8
"""The share of the best region's similarity from which another one counts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, help="take the first N dev photos of each collection only")
    parser.add_argument("--vectors", type=Path, metavar="DIR", help="keep what the models make of photos here")
    arguments = parse_arguments(parser, "short_regions")
    eye, dvsa = Model("eye", threads=1), Model("dvsa", threads=1)
    shipped = Blend.from_table(dvsa.about["cascade"], "dvsa")
    found: dict[str, Any] = {}
    sizes: dict[str, Any] = {}
    for name in COLLECTIONS:
        dev = data.load(name).split("dev")
        dev = replace(dev, items=dev.items[: arguments.photos])
        images, views = look(eye, dvsa, dev, arguments.vectors and arguments.vectors / f"{name}-regions.npz")
        said = gather(dev, MORE)
        sizes[name] = {"photos": len(dev), "queries": {kind: len(own) for kind, own in said.items()}}
        for kind, own in said.items():
            rows: dict[str, list[tuple[float, float]]] = {}
            for query, photos in own.items():
                for way, scores in ways(kind, query, images, views, eye, dvsa, shipped).items():
                    rows.setdefault(way, []).append(precisions(scores, photos))
            for way, pairs in rows.items():
                average, first = (round(100 * float(mean), 1) for mean in np.mean(pairs, axis=0))
                found.setdefault(way, {}).setdefault(name, {})[kind] = (average, first)
                print(f"{name:10} {kind:9} {way:34} {average:5} {first:5}", flush=True)
    record(
        arguments, ("numpy",), split="dev", weights=["eye", "dvsa"], collections=sizes, average_precision_and_p5=found
    )


def look(eye: Model, dvsa: Model, dev: Collection, kept: Path | None) -> tuple[Floats, Floats]:
    """What the eye keeps of each photo (n, D), and what `dvsa` keeps of its regions (n, N, D)."""
    if kept and kept.is_file():
        loaded = np.load(kept)
    else:
        seen = [dvsa.features([path]) for path in dev.images]
        loaded = {
            "eye": np.concatenate([eye.encode_pooled(features.pooled) for features in seen]),
            "views": np.concatenate([dvsa.view(features).astype(np.float16) for features in seen]),
        }
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            np.savez(kept, **loaded)
    return loaded["eye"][: len(dev)].astype(np.float32), loaded["views"][: len(dev)].astype(np.float32)


def ways(
    kind: str, query: str, images: Floats, views: Floats, eye: Model, dvsa: Model, shipped: Blend
) -> dict[str, Floats]:
    """The scores of all photos for a query, by each way to rank them."""
    first = images @ eye.encode_texts([query])[0]
    aligned = dvsa.score_views(views, [query])[:, 0]
    found = {
        "eye": first,
        "as search does": shipped.blend(first[None], aligned[None], [query], dvsa.caption_words.knows)[0],
    }
    for k in KS:
        found |= {f"alignment, {k} photos, {w}": blended(first, aligned, k, w) for w in WEIGHTS}
    regions = views / np.maximum(np.linalg.norm(views, axis=-1, keepdims=True), 1e-9)
    fit = regions @ unit(dvsa.encode_phrases([query]))[0]  # (n, N)
    own = {"best region": fit.max(1), "standing out": fit.max(1) - fit.mean(1)}
    others = others_of(query) if kind in ("colour", "count") else []
    if others:
        thing = regions @ unit(dvsa.encode_phrases([query.partition(" ")[2]]))[0]
        other = regions @ unit(dvsa.encode_phrases(others)).T  # (n, N, others)
        at, best = np.arange(len(fit)), thing.argmax(1)
        own["against others"] = fit.max(1) - other.max(1).max(1)
        own["that of the thing"] = fit[at, best] - other[at, best].mean(1)
    if kind == "count":
        many = (thing > ALMOST * thing.max(1, keepdims=True)).sum(1)
        own["many regions"] = many * (1.0 if NUMBERS.index(query.split()[0]) >= 2 else -1.0)
    for way, scores in own.items():
        found |= {f"{way}, {w}": blended(first, scores, K, w) for w in WEIGHTS[:2]}
    return found


def unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def blended(first: Floats, scores: Floats, k: int, weight: float) -> Floats:
    """The first scores, of whose best k photos the others reorder; they all stay before the rest."""
    best = np.argsort(-first, kind="stable")[:k]
    own = scores[best]
    scaled = (own - own.mean()) / max(float(own.std()), 1e-9) * first[best].std() + first[best].mean()
    found = first.copy()
    found[best] = 10 + (1 - weight) * first[best] + weight * scaled
    return found


if __name__ == "__main__":
    main()
