"""More vectors than there are photos, made from those of real photos, and whether they lie as those do.

A new vector is a convex mixture of a photo and some of its nearest neighbours, moved by noise. The noise is a random
combination of the differences between another photo and its own neighbours: as long as real neighbours are apart, and
in the directions in which neighbours differ, where noise that is the same in all directions would fill dimensions
that photos do not have.

Mixing draws vectors together and noise drives them apart. How much of each is chosen so that a sample of the new
vectors, as large as the real collection, has the real distribution of distances to the 1st and the 10th neighbour and
the real local dimension (the maximum-likelihood estimate of Levina and Bickel, 2004).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

N_NEAR = 8
"""Neighbours of a photo that are mixed, and that noise is made of."""
N_QUERIES = 300
"""Points whose neighbourhoods are described while a recipe is chosen."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much of each.

    Attributes:
        concentration: Of the Dirichlet distribution of the neighbours' shares; the photo itself has the rest of one.
        mixing: The largest share that all neighbours have together.
        noise: The length of the noise in lengths of a difference between neighbours.
        spread: How much that length differs from vector to vector: some photos are one of a series, others are alone.
    """

    mixing: float
    noise: float
    concentration: float = 1.0
    spread: float = 0.0


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


def nearly_nearest(rows: Floats, k: int, n_directions: int = 256, n_looked_at: int = 64) -> Ids:
    """The k nearest other rows of each of many unit vectors (N, k), found among the nearest in fewer directions."""
    sample = rows[:: max(1, len(rows) // 10_000)]
    moved = sample - sample.mean(0)
    axes = np.linalg.eigh(moved.T @ moved)[1][:, ::-1][:, :n_directions]
    centred = (rows - sample.mean(0)) @ axes
    # The nearest are those whose product minus half their square length is the largest.
    half = (centred**2).sum(1) / 2
    found = []
    for start in range(0, len(rows), 256):
        own = np.arange(start, min(start + 256, len(rows)))
        scores = centred[own] @ centred.T - half
        scores[np.arange(len(own)), own] = -np.inf
        few = np.argpartition(scores, -n_looked_at, 1)[:, -n_looked_at:]
        cosines = np.einsum("nkd,nd->nk", rows[few], rows[own])
        found.append(np.take_along_axis(few, np.argsort(-cosines, 1, kind="stable")[:, :k], 1))
    return np.concatenate(found)


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


@dataclass(frozen=True, slots=True)
class Draws:
    """What new vectors are made of.

    Attributes:
        seeds: (n,) the photo that each starts from.
        shares: (n, `N_NEAR`) of that photo's neighbours in the mixture.
        others: (n,) the photo whose differences to its neighbours are the noise.
        weights: (n, `N_NEAR`) of these differences.
    """

    seeds: Ids
    shares: Floats
    others: Ids
    weights: Floats

    def __getitem__(self, places: Ids) -> "Draws":
        return Draws(self.seeds[places], self.shares[places], self.others[places], self.weights[places])


def draw(n_real: int, n_near: int, n: int, recipe: Recipe, rng: np.random.Generator) -> Draws:
    seeds, others = rng.integers(n_real, size=(2, n))
    shares = rng.dirichlet([recipe.concentration] * n_near, n).astype(np.float32)
    shares *= recipe.mixing * rng.random((n, 1), dtype=np.float32)
    weights = rng.standard_normal((n, n_near), dtype=np.float32) * (recipe.noise / np.sqrt(n_near))
    if recipe.spread:
        weights *= np.exp(recipe.spread * rng.standard_normal((n, 1), dtype=np.float32))
    return Draws(seeds, shares, others, np.asarray(weights, np.float32))


def combine(real: Floats, near: Ids, drawn: Draws) -> Floats:
    """The unit vectors of what was drawn."""
    n, k = drawn.shares.shape
    parts = [
        (drawn.seeds[:, None], 1 - drawn.shares.sum(1, keepdims=True)),
        (near[drawn.seeds], drawn.shares),
        (drawn.others[:, None], -drawn.weights.sum(1, keepdims=True)),
        (near[drawn.others], drawn.weights),
    ]
    columns, values = (np.concatenate(each, 1).ravel() for each in zip(*parts, strict=True))
    starts = np.arange(n + 1) * (2 * k + 2)
    rows = csr_array((values.astype(np.float32), columns, starts), (n, len(real))) @ real
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def grow(real: Floats, near: Ids, n: int, recipe: Recipe, rng: np.random.Generator) -> Floats:
    """n unit vectors where real ones lie.

    Args:
        real: (N, D) unit vectors.
        near: (N, `N_NEAR`) the neighbours of each.
    """
    return combine(real, near, draw(len(real), near.shape[1], n, recipe, rng))


@dataclass(frozen=True)
class Grown:
    """n vectors that are made when they are asked for: ten million would fill a disk, and any of them is made at once.

    Attributes:
        block: Vectors that are drawn together; each block depends on the seed and its own number alone.
    """

    real: Floats
    near: Ids
    n: int
    recipe: Recipe
    seed: int
    block: int = 10_000

    def draws(self, number: int) -> Draws:
        n = min(self.block, self.n - number * self.block)
        rng = np.random.default_rng((self.seed, number))
        return draw(len(self.real), self.near.shape[1], n, self.recipe, rng)

    def blocks(self) -> Iterator[Floats]:
        for number in range(-(-self.n // self.block)):
            yield combine(self.real, self.near, self.draws(number))

    def rows(self, places: Ids) -> Floats:
        """Those at some places: (n, D)."""
        found = np.empty((len(places), self.real.shape[1]), np.float32)
        numbers = places // self.block
        for number in np.unique(numbers).tolist():
            here = np.flatnonzero(numbers == number)
            found[here] = combine(self.real, self.near, self.draws(number)[places[here] - number * self.block])
        return found


def grow_blocks(real: Floats, near: Ids, n: int, recipe: Recipe, seed: int, block: int = 10_000) -> Iterator[Floats]:
    """The same in blocks, of which each depends on the seed and its own number alone."""
    yield from Grown(real, near, n, recipe, seed, block).blocks()


def describe(queries: Floats, bank: Floats, k: int = 20) -> dict[str, list[float]]:
    """Quantiles over points of a collection: distances to the 1st and the 10th neighbour, local dimension.

    Args:
        queries: Points of the bank; the nearest row of each is itself.
    """
    _, distances = nearest(queries, bank, k + 1)
    distances = distances[:, 1:]
    found = {"distance_1": distances[:, 0], "distance_10": distances[:, 9], "dimension": local_dimension(distances)}
    return {name: [round(float(value), 4) for value in np.quantile(each, QUANTILES)] for name, each in found.items()}


def difference(made: dict[str, list[float]], real: dict[str, list[float]], places: Iterable[int] = (1, 2, 3)) -> float:
    """The largest relative difference of quantiles of what `describe` gives, by default of the three middle ones."""
    return max(abs(made[name][at] / real[name][at] - 1) for name in real for at in places)


def fit(real: Floats, near: Ids, chosen_on: Ids) -> tuple[Recipe, float]:
    """The recipe whose vectors lie most as the real ones do, and by how much they do not.

    Found by walking: of a recipe's neighbours, which differ from it in one number, the best is taken as long as it is
    better. All quantiles count, so that what is nearest of all and farthest of all is as in a real collection.
    """
    expected = describe(real[chosen_on], real)
    tried: dict[tuple[int, ...], float] = {}

    def apart(steps: tuple[int, ...]) -> float:
        if steps not in tried:
            made = grow(real, near, len(real), _recipe(steps), np.random.default_rng(1))
            tried[steps] = difference(describe(made[: len(chosen_on)], made), expected, range(len(QUANTILES)))
        return tried[steps]

    best: tuple[int, ...] = _START
    while True:
        around = [
            (*best[:place], best[place] + way, *best[place + 1 :])
            for place in range(len(best))
            for way in (-1, 1)
            if 0 <= best[place] + way <= _MOST[place]
        ]
        ahead = min(around, key=apart)
        if apart(ahead) >= apart(best):
            return _recipe(best), apart(best)
        best = ahead


_START, _MOST = (6, 12, 4), (10, 30, 20)


def _recipe(steps: tuple[int, ...]) -> Recipe:
    mixing, noise, spread = steps
    return Recipe(mixing / 10, noise / 20, spread=spread / 20)
