"""Can a hubness correction that looks at the library do better than the fixed bank of sentences that ships?

Every dev part (Flickr8K, COCO, IAPR TC-12) is searched as a library of its own, and all three together as one. The
score of a photo is its cosine minus a number of its own, its hubness, which comes from

- `fixed bank`: the sentences that ship with the eye, all alike (inverted softmax; what search does);
- `weighted bank`: the same sentences, each weighted by how probable it is given the photos of this library;
- `nearest in the bank`: the mean cosine of the nearest sentences (local scaling, CSLS);
- `own photos`, `nearest own photos`: the same two with the photos of the library in place of sentences;
- `even shares`: what makes every photo of this library the answer to as many sentences of the weighted bank (the
  bias of Sinkhorn's iteration);
- `fixed bank where a hub wins`: the fixed bank, only for queries whose first photo is the first for a sentence of the
  bank (dynamic inverted softmax, Bogolin et al. 2022).

Each has a strength and a temperature or a number of neighbours. The choice is the best mean of R@1 + R@5 + R@10 among
those that are at least as good as the fixed bank in every library; `chosen` is None where there is none.

    SEESAY_DATA=… python -m benchmarks.ablations.library_hubness [eye]
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data.examples import Examples
from seesay.images.extraction import features_of
from seesay.models.eye_ear import EyeEar
from seesay.models.pretrained import load
from seesay.scoring import encode_all

COLLECTIONS = ("flickr8k", "coco-all", "iapr")
TEST = ("flickr8k", "iapr")
TOGETHER = "all together"
STRENGTHS = (0.3, 0.5, 0.7, 0.9, 1.1)
TEMPERATURES = (0.03, 0.05, 0.08)
NEIGHBOURS = (5, 10, 30)
SHIPPED = "fixed bank"
N_SPREAD = 5
"""Rounds of Sinkhorn's iteration."""
PRIOR = 500
"""Photos that a library is taken to have besides its own, of which all sentences of the bank are equally probable: a
small library says little about what it is searched for."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Searched:
    """A library and its queries, with all cosines.

    Attributes:
        photos: (n, D) unit vectors.
        scores: (n_queries, n) cosines, not corrected.
        owners: (n_queries,) the photo that each query was written about.
        bank: (n, K) cosines with the sentences of the bank.
    """

    photos: Floats
    scores: Floats
    owners: NDArray[np.int64]
    bank: Floats

    def recall(self, scores: Floats) -> float:
        own = np.take_along_axis(scores, self.owners[:, None], 1)
        ranks = (scores > own).sum(1)
        return round(sum(100 * float((ranks < n).mean()) for n in (1, 5, 10)), 2)

    def corrected(self, hubness: Floats, strength: float) -> Floats:
        return np.asarray(self.scores - strength * hubness, np.float32)


def log_mean_exp(x: Floats, temperature: float, weights: Floats | None = None) -> Floats:
    """(n, K) → (n,)."""
    most = x.max(1, keepdims=True)
    exponents = np.exp((x - most) / temperature)
    mean = exponents.mean(1) if weights is None else exponents @ weights
    return np.asarray(most[:, 0] + temperature * np.log(mean + 1e-30), np.float32)


def nearest_mean(x: Floats, k: int) -> Floats:
    return np.asarray(np.partition(x, -k, axis=1)[:, -k:].mean(1), np.float32)


def weights_in(library: Searched, temperature: float) -> Floats:
    """How probable each sentence of the bank is among those that the photos of a library fit best: (K,), sum 1."""
    near = np.exp((library.bank - library.bank.max(1, keepdims=True)) / temperature)
    found = (near / near.sum(1, keepdims=True)).sum(0)
    even = PRIOR / len(found)
    return np.asarray((found + even) / (len(library.bank) + PRIOR), np.float32)


def spread(library: Searched, temperature: float) -> Floats:
    """The bias of each photo under which every one is the answer to as many sentences of the weighted bank: (n,)."""
    weights = weights_in(library, temperature)
    scaled = library.bank / temperature
    bias = np.zeros(len(scaled), np.float32)
    for _ in range(N_SPREAD):
        near = np.exp(scaled - bias[:, None] - (scaled - bias[:, None]).max(0))
        shares = (near / near.sum(0)) @ weights  # (n,)
        bias += np.log(shares * len(shares) + 1e-3)
    return np.asarray(temperature * bias, np.float32)


def own_photos(library: Searched) -> Floats:
    near = library.photos @ library.photos.T
    np.fill_diagonal(near, -1)
    return np.asarray(near, np.float32)


def where_a_hub_wins(strength: float, temperature: float, library: Searched) -> Floats:
    hubs = np.unique(library.bank.argmax(0))
    corrected = library.corrected(log_mean_exp(library.bank, temperature), strength)
    wins = np.isin(library.scores.argmax(1), hubs)
    return np.asarray(np.where(wins[:, None], corrected, library.scores), np.float32)


Scorer = Callable[[Searched], Floats]
HUBNESS: dict[str, tuple[Sequence[float], Callable[[Searched, Any], Floats]]] = {
    SHIPPED: (TEMPERATURES, lambda library, t: log_mean_exp(library.bank, t)),
    "weighted bank": (TEMPERATURES, lambda library, t: log_mean_exp(library.bank, t, weights_in(library, t))),
    "own photos": (TEMPERATURES, lambda library, t: log_mean_exp(own_photos(library), t)),
    "even shares": (TEMPERATURES, spread),
    "nearest in the bank": (NEIGHBOURS, lambda library, k: nearest_mean(library.bank, k)),
    "nearest own photos": (NEIGHBOURS, lambda library, k: nearest_mean(own_photos(library), k)),
}
"""A number for each photo, by the temperatures or the numbers of neighbours that are tried."""


def subtract(hubness: Callable[[Searched, Any], Floats], strength: float, how: float, library: Searched) -> Floats:
    return library.corrected(hubness(library, how), strength)


def methods() -> Iterator[tuple[str, str, Scorer]]:
    """Name, settings, and what gives the scores (n_queries, n)."""
    yield "none", "", lambda library: library.scores
    for name, (values, hubness) in HUBNESS.items():
        for strength, how in product(STRENGTHS, values):
            yield name, f"{strength:g} at {how:g}", partial(subtract, hubness, strength, how)
    for strength, t in product(STRENGTHS, TEMPERATURES):
        yield f"{SHIPPED} where a hub wins", f"{strength:g} at {t:g}", partial(where_a_hub_wins, strength, t)


def choose(rows: Sequence[dict[str, Any]], shipped: dict[str, float]) -> dict[str, Any] | None:
    """The row with the best mean among those that lose nowhere against what ships and gain on average."""
    good = [row for row in rows if all(row["found"][name] >= value for name, value in shipped.items())]
    best = max(good, key=lambda row: float(np.mean(list(row["found"].values()))), default=None)
    return best if best and sum(best["found"].values()) > sum(shipped.values()) else None


@torch.inference_mode()
def encode(model: EyeEar, names: Sequence[str], split: str) -> dict[str, Searched]:
    """The libraries of a split, and all together as one."""
    assert model.bank is not None
    axes, rows = model.bank.axes.numpy(), model.bank.rows.numpy()
    photos, texts, owners = [], [], []
    for name in names:
        part = data.load(name).split(split).with_images()
        examples = Examples.of(part, features_of(part.images, model.feature_spec, model.outputs))
        own = [each.numpy()[:, :-1] for each in encode_all(model, examples)]  # without the number of the fixed bank
        photos.append(own[0])
        texts.append(own[1])
        owners.append(examples.image_of)
    starts = np.cumsum([0, *map(len, photos)])[:-1]
    named = dict(zip(names, zip(photos, texts, owners, strict=True), strict=True))
    if len(names) > 1:
        moved = [own + start for own, start in zip(owners, starts, strict=True)]
        named[TOGETHER] = np.concatenate(photos), np.concatenate(texts), np.concatenate(moved)
    return {name: Searched(p, t @ p.T, o, p @ axes @ rows.T) for name, (p, t, o) in named.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", nargs="?", default="eye")
    arguments = parse_arguments(parser, "library_hubness")
    model = load(arguments.weights)
    assert isinstance(model, EyeEar)
    dev = encode(model, COLLECTIONS, "dev")
    rows: list[dict[str, Any]] = []
    for name, settings, score in methods():
        found = {library: own.recall(score(own)) for library, own in dev.items()}
        rows.append({"method": name, "settings": settings, "found": found})
        print(f"{name:30} {settings:12} {found}", flush=True)
    present = f"{model.config.hub_weight:g} at {model.config.hub_temperature:g}"
    shipped = next(row["found"] for row in rows if (row["method"], row["settings"]) == (SHIPPED, present))
    best = {
        name: max((row for row in rows if row["method"] == name), key=lambda row: float(sum(row["found"].values())))
        for name in dict.fromkeys(row["method"] for row in rows)
    }
    chosen = choose(rows, shipped)
    print(f"ships {present}: {shipped}; better everywhere: {chosen}")
    scorers = {(name, settings): score for name, settings, score in methods()}
    test = encode(model, TEST, "test")
    on_test = {
        name: {library: own.recall(scorers[name, row["settings"]](own)) for library, own in test.items()}
        for name, row in best.items()
    }
    on_test["what ships"] = {library: own.recall(scorers[SHIPPED, present](own)) for library, own in test.items()}
    record(
        arguments, ("torch", "numpy"), model=arguments.weights, metric="R@1 + R@5 + R@10 of photos",
        ships={"settings": present, "found": shipped}, chosen=chosen, best=best, test=on_test, rows=rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
