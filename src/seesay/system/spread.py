"""Ways to do the same work on many things: in this process, or elsewhere (`seesay.system.cluster`)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

Thing = TypeVar("Thing")
Made = TypeVar("Made")
MakeWork = Callable[[], Callable[[Thing], Made]]
"""Gets a worker ready and gives what it does to a batch; it travels to the workers, so it is best a `partial`."""
Spread = Callable[[MakeWork[Any, Any], Sequence[Any]], Iterable[Any]]
"""A way to do work on things, whose results come in the order of the things."""


def spread_here(make: MakeWork[Thing, Made], things: Sequence[Thing]) -> Iterator[Made]:
    """Do the work in this process.

    Example:
        >>> list(spread_here(lambda: str.upper, ["a", "b"]))
        ['A', 'B']
    """
    return map(make(), things)
