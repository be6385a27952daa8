"""Filters as SQL."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seesay.library.store import Filter
from seesay.library.tags import SHOWN


def below(folders: Sequence[Path], column: str = "path") -> tuple[str, list[bytes]]:
    """The condition that a path lies below one of some folders; none given, everywhere."""
    if not folders:
        return "1", []
    parameters: list[bytes] = []
    for folder in folders:
        start = os.fsencode(folder).rstrip(b"/") + b"/"
        parameters += [start, start[:-1] + b"0"]  # "0" follows "/"
    return "(" + " OR ".join([f"({column} >= ? AND {column} < ?)"] * len(folders)) + ")", parameters


def conditions(where: Filter) -> tuple[str, list[Any]]:
    """The condition that a photo p with its content c passes a filter."""
    passes, parameters = below(where.folders, "p.path")
    needed: list[str] = [passes]
    values: list[Any] = [*parameters]
    if where.within:
        needed.append("instr(p.path, ?)")
        values.append(b"/" + os.fsencode(where.within).strip(b"/") + b"/")
    if where.during:
        needed.append("substr(p.date, 1, ?) = ?")
        values += [len(where.during), where.during]
    if where.after:
        needed.append("p.date >= ?")
        values.append(where.after)
    if where.before:
        needed.append("p.date < ?")
        values.append(where.before)
    if where.camera:
        needed.append("instr(lower(c.camera), ?)")
        values.append(where.camera.lower())
    if where.classes:
        needed.append(
            "EXISTS (SELECT 1 FROM tags t WHERE t.content = c.id AND t.probability >= ? "
            "AND t.class IN (SELECT value FROM json_each(?)))"
        )
        values += [SHOWN, json.dumps(where.classes)]
    return " AND ".join(needed), values
