"""What a collection of a given size will cost: time, memory, disk, and which store to choose.

Every figure comes from `costs.json`, which `python -m benchmarks.scale.costs` writes from what was measured. Each has
the sizes that it was measured at beside it; an estimate beyond them says that it extrapolates.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal

from seesay.system import ranges
from seesay.system.files import n_cores

COSTS: Final = Path(__file__).with_name("costs.json")
MOST_PHOTOS = 10**12
MOST_MACHINES = 100_000
PATIENCE_MS = 100.0
"""A search that takes longer than that by comparing all photos is better asked of an index on a server."""
SERVER_BYTES = 256e9
"""Memory of a database server; an index that does not fit is shared by several."""

Store = Literal["sqlite", "postgres"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Something that was measured at one or several sizes.

    Attributes:
        points: Pairs of photos and value, fewest photos first.
        grows: How the value goes on past the last point: `not`, as the `logarithm` of the photos, or `linearly`.
    """

    points: tuple[tuple[int, float], ...]
    grows: Literal["not", "logarithm", "linearly"]

    def at(self, n: int) -> float:
        """The value for n photos: between two points on the line through them where both axes are logarithmic.

        Example:
            >>> cost = Cost(((100, 1.0), (10_000, 4.0)), "linearly")
            >>> cost.at(10), cost.at(1000), cost.at(20_000)
            (1.0, 2.0, 8.0)
        """
        first, last = self.points[0], self.points[-1]
        if n <= first[0]:
            return first[1]
        if n >= last[0]:
            growth = {"not": 1.0, "logarithm": math.log(n) / math.log(last[0]), "linearly": n / last[0]}
            return last[1] * growth[self.grows]
        right = next(place for place, (size, _) in enumerate(self.points) if size >= n)
        (n0, y0), (n1, y1) = self.points[right - 1 : right + 1]
        share = math.log(n / n0) / math.log(n1 / n0)
        return math.exp((1 - share) * math.log(y0) + share * math.log(y1))

    def reaches(self, n: int) -> bool:
        """Whether n lies among the sizes that were measured."""
        return self.points[0][0] <= n <= self.points[-1][0]


@dataclass(frozen=True, slots=True)
class Costs:
    """All costs. Times are CPU time of one core."""

    indexing_seconds_per_photo: Cost
    indexing_megabytes: Cost
    sqlite_bytes_per_photo: Cost
    sqlite_search_milliseconds: Cost
    sqlite_search_megabytes: Cost
    postgres_bytes_per_photo: Cost
    postgres_index_bytes_per_photo: Cost
    postgres_building_seconds_per_photo: Cost
    postgres_search_milliseconds: Cost
    postgres_writing_seconds_per_photo: Cost
    date: str
    machine: str

    @classmethod
    def read(cls, path: Path = COSTS) -> "Costs":
        table = json.loads(path.read_text(encoding="utf-8"))
        values: dict[str, Any] = {
            field.name: _cost(value) if isinstance(value := table[field.name], Mapping) else value
            for field in fields(cls)
        }
        return cls(**values)


def _cost(table: Mapping[str, Any]) -> Cost:
    return Cost(tuple((int(n), float(value)) for n, value in table["points"]), table["grows"])


@dataclass(frozen=True, slots=True)
class Estimate:
    """One line of a plan.

    Attributes:
        measured: The fewest and the most photos that it rests on.
        extrapolates: Whether the plan asks for another size.
    """

    name: str
    value: float
    unit: str
    measured: tuple[int, int]
    extrapolates: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What so many photos will cost on so many machines."""

    photos: int
    machines: int
    cores: int
    store: Store
    why: str
    estimates: tuple[Estimate, ...]
    date: str
    machine: str

    @property
    def extrapolates(self) -> bool:
        return any(estimate.extrapolates for estimate in self.estimates)

    def __getitem__(self, name: str) -> float:
        return next(estimate.value for estimate in self.estimates if estimate.name == name)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "extrapolates": self.extrapolates}


Rows = Sequence[tuple[str, float, str, Cost]]
"""Name, value and unit of an estimate, and the cost that it rests on."""


def make_plan(photos: int, machines: int = 1, cores: int = 0, *, costs: Costs | None = None) -> Plan:
    """Time, memory and disk for a collection, and the store to keep it in.

    Args:
        photos: How many.
        machines: That index at once.
        cores: Of each machine; 0 takes those of this one.

    Raises:
        SeesayError: Fewer than one photo, or more than anybody has.
    """
    ranges.require_count("photos", photos, MOST_PHOTOS)
    ranges.require_count("machines", machines, MOST_MACHINES)
    ranges.require_count("cores", cores, ranges.THREADS, least=0)
    costs = costs or Costs.read()
    cores = cores or n_cores()
    exact = costs.sqlite_search_milliseconds.at(photos)
    store: Store = "postgres"
    if machines > 1:
        why = f"{machines:,} machines index into one library"
    elif exact > PATIENCE_MS:
        why = f"comparing every photo would take {exact:,.0f} ms a search"
    else:
        store, why = "sqlite", f"one machine, and comparing every photo takes {exact:,.0f} ms a search"
    make = _on_sqlite if store == "sqlite" else _on_postgres
    indexing = photos * costs.indexing_seconds_per_photo.at(photos)
    rows: Rows = [
        ("network", indexing / 3600, "core hours", costs.indexing_seconds_per_photo),
        ("indexing", indexing / (machines * cores) / 3600, "hours", costs.indexing_seconds_per_photo),
        ("memory_indexing", costs.indexing_megabytes.at(photos), "MB", costs.indexing_megabytes),
        *make(photos, costs),
    ]
    estimates = tuple(
        Estimate(name, value, unit, (cost.points[0][0], cost.points[-1][0]), not cost.reaches(photos))
        for name, value, unit, cost in rows
    )
    return Plan(photos, machines, cores, store, why, estimates, costs.date, costs.machine)


def _on_sqlite(photos: int, costs: Costs) -> Rows:
    return [
        ("disk", photos * costs.sqlite_bytes_per_photo.at(photos) / 1e9, "GB", costs.sqlite_bytes_per_photo),
        ("memory_search", costs.sqlite_search_megabytes.at(photos), "MB", costs.sqlite_search_megabytes),
        ("search", costs.sqlite_search_milliseconds.at(photos), "ms", costs.sqlite_search_milliseconds),
    ]


def _on_postgres(photos: int, costs: Costs) -> Rows:
    index = photos * costs.postgres_index_bytes_per_photo.at(photos)
    servers = max(1, math.ceil(index / SERVER_BYTES))
    writing = photos * costs.postgres_writing_seconds_per_photo.at(photos) / servers
    building = photos * costs.postgres_building_seconds_per_photo.at(photos) / servers
    return [
        ("writing", writing / 3600, "hours", costs.postgres_writing_seconds_per_photo),
        ("building", building / 3600, "hours", costs.postgres_building_seconds_per_photo),
        ("disk", photos * costs.postgres_bytes_per_photo.at(photos) / 1e9, "GB", costs.postgres_bytes_per_photo),
        ("memory_search", index / 1e6, "MB", costs.postgres_index_bytes_per_photo),
        ("servers", servers, f"of {SERVER_BYTES / 1e9:.0f} GB", costs.postgres_index_bytes_per_photo),
        ("search", costs.postgres_search_milliseconds.at(photos), "ms", costs.postgres_search_milliseconds),
    ]
