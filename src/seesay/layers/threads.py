"""Work on blocks that are too small to be shared by several threads."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def map_in_threads(function: Callable[[Item], Outcome], items: Sequence[Item]) -> Iterator[Outcome]:
    """Map in order, by as many threads as torch may use, each computing with one thread of its own.

    Example:
        >>> list(map_in_threads(lambda n: int(torch.arange(n).sum()), [3, 4]))
        [3, 6]
    """
    n_threads = torch.get_num_threads()
    if n_threads == 1 or len(items) == 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(n_threads, initializer=lambda: torch.set_num_threads(1))
    try:
        yield from pool.map(torch.inference_mode()(function), items)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(n_threads)
