"""What a visitor asks for, read from the parameters of a request."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from seesay.library.ranking.likeness import Box, read_box
from seesay.library.stores.filters import read_filter
from seesay.library.types import Filter

LONGEST_QUERY = 500
MOST_RESULTS = 100
LAST_OFFSET = 10_000
"""As far as anybody scrolls."""
LARGEST_ID = 2**63 - 1
"""That SQLite can hold."""

Text = Annotated[str, Query(max_length=LONGEST_QUERY)]
Texts = Annotated[list[Annotated[str, Query(max_length=LONGEST_QUERY)]], Query(max_length=8)]
Name = Annotated[str, Query(max_length=200)]
Date = Annotated[str, Query(max_length=20, description="2019, 2019-07 or 2019-07-04.")]


@dataclass(frozen=True, slots=True)
class Page:
    """Which of many results: `limit` of them from `offset` on."""

    offset: Annotated[int, Query(ge=0, le=LAST_OFFSET)] = 0
    limit: Annotated[int, Query(ge=1, le=MOST_RESULTS)] = 40

    @property
    def end(self) -> int:
        return self.offset + self.limit

    def next_after(self, n_found: int) -> int | None:
        """Where the page after this one begins, where so many were found; None where there is none."""
        return self.end if n_found > self.end and self.end <= LAST_OFFSET else None


def read_where(
    after: Date = "",
    before: Date = "",
    within: Annotated[str, Query(alias="in", max_length=200, description="A date, or the name of a folder.")] = "",
    camera: Name = "",
    tag: Name = "",
) -> Filter:
    """Which photos count.

    Raises:
        SeesayError: A date is none, or there is no such tag.
    """
    return read_filter(after=after, before=before, within=within, camera=camera, tag=tag)


Exactly = Annotated[bool, Query(alias="exact", description="Take the query as it stands.")]


def read_crop(
    box: Annotated[
        str, Query(max_length=100, description="Only this crop of it: left,top,right,bottom as fractions.")
    ] = "",
) -> Box | None:
    """The box of a crop.

    Raises:
        SeesayError: It is no box inside the photo.
    """
    return read_box(box) if box else None
