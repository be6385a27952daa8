"""Filters as SQL, in the dialect of each store."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from seesay.library.tag_names import SHOWN
from seesay.library.types import Filter


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where databases differ in what they are asked; a value is written `?` in both.

    Attributes:
        one_of: That what stands before it is among the numbers of one value.
        numbers: Numbers as that value.
        holds: That bytes or a text holds another.
    """

    one_of: str
    numbers: Callable[[Iterable[int]], Any]
    holds: str


SQLITE: Final = Dialect(
    "IN (SELECT value FROM json_each(?))",
    lambda numbers: json.dumps([int(number) for number in numbers]),
    "instr({}, ?)",
)
POSTGRES: Final = Dialect("= ANY (?)", lambda numbers: [int(number) for number in numbers], "position(? IN {}) > 0")


def below(folders: Sequence[Path], column: str = "path") -> tuple[str, list[bytes]]:
    """The condition that a path lies below one of some folders; none given, everywhere."""
    if not folders:
        return "TRUE", []
    parameters: list[bytes] = []
    for folder in folders:
        start = os.fsencode(folder).rstrip(b"/") + b"/"
        parameters += [start, start[:-1] + b"0"]  # "0" follows "/"
    return "(" + " OR ".join([f"({column} >= ? AND {column} < ?)"] * len(folders)) + ")", parameters


def conditions(where: Filter, dialect: Dialect) -> tuple[str, list[Any]]:
    """The condition that a photo p with its content c passes a filter."""
    passes, parameters = below(where.folders, "p.path")
    needed: list[str] = [passes]
    values: list[Any] = [*parameters]
    if where.within:
        needed.append(dialect.holds.format("p.path"))
        values.append(b"/" + os.fsencode(where.within).strip(b"/") + b"/")
    if where.during:
        needed.append("p.date >= ? AND p.date < ?")
        values += [where.during, where.during + "~"]  # "~" follows everything that dates are written with
    if where.after:
        needed.append("p.date >= ?")
        values.append(where.after)
    if where.before:
        needed.append("p.date < ?")
        values.append(where.before)
    if where.months:
        needed.append(f"substr(p.date, 6, 2) IN ({', '.join('?' * len(where.months))})")
        values += [f"{month:02d}" for month in where.months]
    if where.camera:
        needed.append(dialect.holds.format("lower(c.camera)"))
        values.append(where.camera.lower())
    if where.classes:
        needed.append(
            f"EXISTS (SELECT 1 FROM tags t WHERE t.content = c.id AND t.probability >= ? AND t.class {dialect.one_of})"
        )
        values += [SHOWN, dialect.numbers(where.classes)]
    return " AND ".join(needed), values
