"""More vectors than there are photos, made from those of real photos, and whether they lie as those do.

A new vector is a convex mixture of a photo and some of its nearest neighbours, moved by noise. The noise is a random
combination of the differences between another photo and its own neighbours: as long as real neighbours are apart, and
in the directions in which neighbours differ, where noise that is the same in all directions would fill dimensions
that photos do not have.

Mixing draws vectors together and noise drives them apart. How much of each is chosen so that a sample of the new
vectors, as large as the real collection, has the real distribution of distances to the 1st and the 10th neighbour and
the real local dimension (the maximum-likelihood estimate of Levina and Bickel, 2004).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

N_NEAR = 8
"""Neighbours of a photo that are mixed, and that noise is made of."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much of each.

    Attributes:
        concentration: Of the Dirichlet distribution of the neighbours' shares; the photo itself has the rest of one.
        mixing: The largest share that all neighbours have together.
        noise: The length of the noise in lengths of a difference between neighbours.
    """

    mixing: float
    noise: float
    concentration: float = 1.0


def nearest(queries: Floats, bank: Floats, k: int, block: int = 256) -> tuple[Ids, Floats]:
    """The k nearest rows of a bank of unit vectors and their Euclidean distances, nearest first: (n, k) each."""
    ids, distances = [], []
    for start in range(0, len(queries), block):
        cosines = queries[start : start + block] @ bank.T
        best = np.argpartition(-cosines, k - 1, 1)[:, :k]
        found = np.take_along_axis(cosines, best, 1)
        order = np.argsort(-found, 1, kind="stable")
        ids.append(np.take_along_axis(best, order, 1))
        distances.append(np.sqrt(np.maximum(2 - 2 * np.take_along_axis(found, order, 1), 0)))
    return np.concatenate(ids), np.concatenate(distances)


def local_dimension(distances: Floats) -> Floats:
    """Levina and Bickel's estimate at each point from the distances to its k nearest neighbours (n, k).

    Example:
        >>> points = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
        >>> apart = np.sqrt(((points[:200, None] - points[None]) ** 2).sum(-1))
        >>> round(float(np.median(local_dimension(np.sort(apart, 1)[:, 1:21]))))
        3
    """
    ratios = np.log(distances[:, -1:] / np.maximum(distances[:, :-1], 1e-9))
    return np.asarray((distances.shape[1] - 2) / np.maximum(ratios.sum(1), 1e-9), np.float32)


def grow(real: Floats, near: Ids, n: int, recipe: Recipe, rng: np.random.Generator) -> Floats:
    """n unit vectors where real ones lie.

    Args:
        real: (N, D) unit vectors.
        near: (N, `N_NEAR`) the neighbours of each.
    """
    seeds, others = rng.integers(len(real), size=(2, n))
    shares = rng.dirichlet([recipe.concentration] * near.shape[1], n).astype(np.float32)
    shares *= recipe.mixing * rng.random((n, 1), dtype=np.float32)
    rows = real[seeds] * (1 - shares.sum(1, keepdims=True))
    weights = rng.standard_normal((n, near.shape[1]), dtype=np.float32) * (recipe.noise / np.sqrt(near.shape[1]))
    rows -= real[others] * weights.sum(1, keepdims=True)
    for place in range(near.shape[1]):
        rows += shares[:, place, None] * real[near[seeds, place]]
        rows += weights[:, place, None] * real[near[others, place]]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def grow_blocks(real: Floats, near: Ids, n: int, recipe: Recipe, seed: int, block: int = 10_000) -> Iterator[Floats]:
    """The same in blocks, of which each depends on the seed and its own number alone."""
    for number, start in enumerate(range(0, n, block)):
        yield grow(real, near, min(block, n - start), recipe, np.random.default_rng((seed, number)))


def describe(queries: Floats, bank: Floats, k: int = 20) -> dict[str, list[float]]:
    """Quantiles over points of a collection: distances to the 1st and the 10th neighbour, local dimension.

    Args:
        queries: Points of the bank; the nearest row of each is itself.
    """
    _, distances = nearest(queries, bank, k + 1)
    distances = distances[:, 1:]
    found = {"distance_1": distances[:, 0], "distance_10": distances[:, 9], "dimension": local_dimension(distances)}
    return {name: [round(float(value), 4) for value in np.quantile(each, QUANTILES)] for name, each in found.items()}


def difference(made: dict[str, list[float]], real: dict[str, list[float]]) -> float:
    """The largest relative difference of the three middle quantiles of what `describe` gives."""
    return max(abs(made[name][at] / real[name][at] - 1) for name in real for at in (1, 2, 3))


def fit(real: Floats, near: Ids, rng: np.random.Generator, n_queries: int = 300) -> tuple[Recipe, float]:
    """The recipe whose vectors lie most as the real ones do, and by how much they do not."""
    expected = describe(real[rng.choice(len(real), n_queries, replace=False)], real)
    best = (Recipe(0, 0), float("inf"))
    for mixing in (0.7, 0.9, 1.0):
        for noise in (0.6, 0.65, 0.7, 0.75):
            recipe = Recipe(mixing, noise)
            made = grow(real, near, len(real), recipe, np.random.default_rng(1))
            apart = difference(describe(made[:n_queries], made), expected)
            if apart < best[1]:
                best = (recipe, apart)
    return best
