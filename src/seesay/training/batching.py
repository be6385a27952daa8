"""Which examples go into which batch: pure functions of the seed and the epoch.

An epoch's batches can be computed again at any time and in any process, which is what lets a run be resumed in the
middle of an epoch and be split over processes.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.data.examples import Indices


def batches(
    lengths: ArrayLike, size: int, *, seed: int, epoch: int, bucket_by_length: bool = True, window: int = 50
) -> list[Indices]:
    """Split the examples of a collection into shuffled batches, each example exactly once.

    Examples are shuffled and cut into windows of `window` batches; inside a window they are sorted by length, so that a
    batch needs little padding and still differs from epoch to epoch. The batches then go in random order. Sizes differ
    by at most one: a last batch of two examples would be nearly all noise for a loss that ranks within the batch.

    Args:
        lengths: (n,) length of each example, in words.
        size: Largest batch.

    Returns:
        Index arrays; together a permutation of range(n).

    Example:
        >>> [indices.tolist() for indices in batches([5, 1, 5, 1, 5, 1], size=3, seed=0, epoch=0)]
        [[3, 5, 1], [2, 4, 0]]
    """
    found = mixed_batches(
        [lengths],
        size,
        weights=[1.0],
        seed=seed,
        epoch=epoch,
        bucket_by_length=bucket_by_length,
        window=window,
    )
    return [indices for _, indices in found]


def mixed_batches(
    lengths: Sequence[ArrayLike],
    size: int,
    *,
    weights: Sequence[float],
    seed: int,
    epoch: int,
    bucket_by_length: bool = True,
    window: int = 50,
) -> list[tuple[int, Indices]]:
    """Batches of several collections in random order, each batch within one collection.

    A collection of weight w is gone through w times an epoch. Where w is not whole an epoch takes up the shuffled
    order where the last one left it: with w = 0.5 every example comes exactly once in two epochs.

    Args:
        lengths: One array of lengths for each collection.
        weights: Passes over each collection in an epoch.

    Returns:
        Pairs of the collection's place in `lengths` and the indices into it.

    Example:
        >>> found = mixed_batches([[3, 3, 3, 3], [7, 7]], size=2, weights=[1.0, 0.5], seed=0, epoch=0)
        >>> [(collection, indices.tolist()) for collection, indices in found]
        [(1, [1]), (0, [2, 0]), (0, [1, 3])]
    """
    found = []
    for collection, (own_lengths, weight) in enumerate(zip(lengths, weights, strict=True)):
        own_lengths = np.asarray(own_lengths)
        for turn, start, end in _passes(len(own_lengths), weight, epoch):
            order = np.random.default_rng([seed, turn, collection]).permutation(len(own_lengths))[start:end]
            generator = np.random.default_rng([seed, turn, collection, start])
            cut = _cut(order, own_lengths, size, bucket_by_length, window, generator)
            found += [(collection, indices) for indices in cut]
    return [found[place] for place in np.random.default_rng([seed, epoch]).permutation(len(found))]


def count_batches(n_examples: Sequence[int], size: int, *, weights: Sequence[float], epoch: int) -> int:
    """How many batches `mixed_batches` gives, without making them.

    Example:
        >>> count_batches([4, 2], size=2, weights=[1.0, 0.5], epoch=0)
        3
    """
    return sum(
        math.ceil((end - start) / size)
        for n, weight in zip(n_examples, weights, strict=True)
        for _, start, end in _passes(n, weight, epoch)
    )


def _passes(n: int, weight: float, epoch: int) -> list[tuple[int, int, int]]:
    """The stretches (turn, start, end) that an epoch takes from the endless row of shuffled turns over n examples."""
    begin, end = round(epoch * weight * n), round((epoch + 1) * weight * n)
    turns = range(begin // n, -(-end // n)) if n else range(0)
    return [(turn, max(begin - turn * n, 0), min(end - turn * n, n)) for turn in turns]


def _cut(
    order: Indices, lengths: NDArray[np.int64], size: int, bucket: bool, window: int, generator: np.random.Generator
) -> list[Indices]:
    n_batches = math.ceil(len(order) / size)
    edges = [len(order) * place // n_batches for place in range(n_batches + 1)] if n_batches else [0]
    if bucket:
        order = order.copy()
        for first in range(0, n_batches, window):
            inside = slice(edges[first], edges[min(first + window, n_batches)])
            order[inside] = order[inside][np.argsort(lengths[order[inside]], kind="stable")]
    cut = [order[start:end] for start, end in itertools.pairwise(edges)]
    return [cut[place] for place in generator.permutation(n_batches)]
