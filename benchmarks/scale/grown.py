"""Vectors grown from the real photos of a library, and whether they lie as those do (`benchmarks.scale.growth`).

The recipe is chosen on some real photos and compared with the real ones on others: a sample of grown vectors, as large
as the real collection, against it. Then both are thinned out: neighbours come nearer as a collection grows, and those
of grown vectors have to do so at the same rate, on to a million.

    python -m benchmarks.scale.grown LIBRARY NEIGHBOURS [--million]

The photos' neighbours are kept in a file, for the benchmarks that grow vectors.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import growth
from benchmarks.scale.real import Floats, read_real
from benchmarks.scale.sections import read_sections, write_section

N_SHOWN = 1000
"""Photos whose neighbourhoods are described."""
N_NEAR = 14
"""Neighbours that are mixed, and that noise is made of: with eight of them the tenth neighbour lies too far away."""
N_SEEDS = 40_000
"""Real photos, spread over the library, that vectors are grown from: finding the neighbours of more takes too long."""
THINNED = (1, 4, 16)
MILLION, N_AMONG_MILLION = 1_000_000, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("neighbours", type=Path, help="a file, written where it is not there")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--million", action="store_true", help="look for neighbours among a million, too")
    arguments = parser.parse_args()
    real = unit_vectors(arguments.library)
    near = neighbours(real, arguments.neighbours)
    chosen_on = np.random.default_rng(arguments.seed).choice(len(real), growth.N_QUERIES, replace=False)
    recipe, on_choosing = growth.fit(real, near, chosen_on)
    print(recipe, on_choosing, flush=True)
    grown = growth.Grown(real, near, MILLION, recipe, arguments.seed + 1)
    fresh = np.random.default_rng(arguments.seed + 1)
    made = np.concatenate([rows for _, rows in zip(range(-(-len(real) // grown.block)), grown.blocks(), strict=False)])
    made = made[: len(real)]
    shown = fresh.choice(np.setdiff1d(np.arange(len(real)), chosen_on), N_SHOWN, replace=False)
    tables = {"real": growth.describe(real[shown], real), "made": growth.describe(made[shown], made)}
    near_by = {"real": thinned(real, shown), "made": thinned(made, shown)}
    if arguments.million:
        near_by["made"].append([MILLION, *apart(grown, made[shown[:N_AMONG_MILLION]])])
    write_section(
        "growth", photos=len(real), shown=N_SHOWN, seed=arguments.seed, recipe=asdict(recipe),
        quantiles=growth.QUANTILES, **tables, thinned=near_by,
        difference_when_chosen=round(on_choosing, 3),
        largest_difference=round(growth.difference(tables["made"], tables["real"]), 3),
        largest_difference_of_all=round(growth.difference(tables["made"], tables["real"], range(5)), 3),
    )  # fmt: skip


def unit_vectors(library: Path) -> Floats:
    rows = read_real(library, N_SEEDS).vectors
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def neighbours(real: Floats, file: Path) -> growth.Ids:
    """Of all these photos: read, or found and written."""
    if file.exists():
        near: growth.Ids = np.load(file)
        if near.shape == (len(real), N_NEAR):
            return near
    near = growth.nearly_nearest(real, N_NEAR)
    np.save(file, near)
    return near


def grow_from(library: Path, neighbours_file: Path, n: int) -> growth.Grown:
    """As many vectors as wanted, by the recipe that was chosen and checked."""
    found = read_sections()["growth"]
    real = unit_vectors(library)
    assert len(real) == found["photos"], "the recipe was chosen on another library: run benchmarks.scale.grown again"
    recipe = growth.Recipe(**found["recipe"])
    return growth.Grown(real, neighbours(real, neighbours_file), n, recipe, found["seed"] + 1)


def rounded(rows: Floats) -> Floats:
    """Vectors as a library keeps them, in half precision."""
    return rows.astype(np.float16).astype(np.float32)


def thinned(rows: Floats, shown: growth.Ids) -> list[list[float]]:
    """Photos, and the median distance to the 1st and the 10th neighbour, in smaller and smaller parts."""
    found: list[list[float]] = []
    for share in THINNED[::-1]:
        kept = np.union1d(np.arange(0, len(rows), share), shown)
        _, distances = growth.nearest(rows[shown], rows[kept], 11)
        found.append([len(kept), *medians(distances[:, 1:])])
    return found


def apart(grown: growth.Grown, queries: Floats) -> list[float]:
    """The same for some of the vectors among all of them."""
    distances: Any = np.full((len(queries), 11), np.inf, np.float32)
    for rows in grown.blocks():
        distances = np.sort(np.concatenate([distances, growth.nearest(queries, rows, 11)[1]], 1), 1)[:, :11]
    return medians(distances[:, 1:])


def medians(distances: Floats) -> list[float]:
    return [round(float(np.median(distances[:, at])), 4) for at in (0, 9)]


if __name__ == "__main__":
    main()
