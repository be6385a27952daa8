"""What stands for a graph where a published pair has none of ours: its own text graph, and two sums."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.runtime.graph_file import require_own_numbers

Arrays = Mapping[str, NDArray[Any]]
UNIT, INNER = "unit", "inner"
"""What is no graph of a pair, and needs none: vectors of unit length, and their inner products."""


@dataclass(frozen=True)
class Computed:
    """What answers as an opened graph does (`seesay.runtime.folder.Session`)."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    run: Callable[[Arrays], list[Any]]

    def __call__(self, arrays: Arrays) -> list[Any]:
        return self.run(arrays)


def open_computed(path: Path | None, how: Any, threads: int) -> Computed:
    """What stands for a graph of a pair: a published one, or what needs none.

    Raises:
        SeesayError: The table says something else.
    """
    from seesay.towers.pair import open_run, run_text, unit

    if how == UNIT:
        return Computed(("pooled",), ("images",), lambda arrays: [unit(arrays["pooled"])])
    if how == INNER:
        return Computed(("images", "texts"), ("scores",), lambda arrays: [arrays["images"] @ arrays["texts"].T])
    if path is None or not isinstance(how, Mapping) or not isinstance(how.get("output"), str):
        raise SeesayError(f"a published graph is described by {str(how)[:80]!r}", allowed=f"{UNIT}, {INNER}, a table")
    require_own_numbers(path)
    session, output = open_run(path, threads), how["output"]
    return Computed(
        ("subwords", "mask"), ("texts",),
        lambda arrays: [run_text(session, output, arrays["subwords"], arrays["mask"])],
    )  # fmt: skip
