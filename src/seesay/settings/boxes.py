"""Boxes that were learned from boxes which people drew: what config.json says of them."""

from dataclasses import dataclass, field
from typing import Any

from seesay.system.tables import read_table


@dataclass(frozen=True)
class BoxSettings:
    """The table `boxes`.

    Attributes:
        file: The graph, in the weights' own folder.
        digest: Its sha256.
        side: Places along a side of the map that it looks at.
        dim: Numbers of the vector of a place.
        n_photos: Photos that it learned from.
        n_phrases: Their phrases with boxes.
    """

    file: str
    digest: str
    side: int = field(metadata={"at_least": 1})
    dim: int = field(metadata={"at_least": 1})
    n_photos: int = field(default=0, metadata={"at_least": 0})
    n_phrases: int = field(default=0, metadata={"at_least": 0})

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "BoxSettings":
        """Read the table of config.json."""
        return read_table(cls, table, origin, "boxes.")
