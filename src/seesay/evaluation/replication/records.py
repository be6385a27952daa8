"""What was measured here, looked up by where it is recorded: results of benchmarks, and the figures of weights.

A path names a figure: `["weights", "mrnn-flickr8k", "flickr8k/test", "captions", "bleu4"]` in the config.json of
weights, `["identification", "rows", "identifier", "accuracy", "2-way"]` in a result. In a list, `"variant=full"` is the
entry that says so, and `"0"` the first.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from seesay.catalogue.figures import measured_on
from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError

CHECKOUT = Path(__file__).resolve().parents[4] / "benchmarks/results"
"""Where results lie in the source tree; an installed package has the figures of its weights only."""


@dataclass(frozen=True)
class Found:
    """What stands at a path.

    Attributes:
        value: A number, or a table of them.
        date: When it was measured; empty where the record does not say.
        stale: Why it cannot be trusted any more; empty where it can.
    """

    value: Any
    date: str = ""
    stale: str = ""


@dataclass(frozen=True)
class Records:
    """All that was recorded.

    Attributes:
        results: The folder of results; None where there is none.
        weights: The folder of the weights that ship.
    """

    results: Path | None = CHECKOUT if CHECKOUT.is_dir() else None
    weights: Path = PACKAGED

    def find(self, path: Sequence[str]) -> Found | None:
        """What stands at a path; None where nothing is recorded there."""
        kind, *rest = path
        if kind == "weights":
            return self._figures(rest[0], rest[1:])
        record = None if self.results is None else _read(self.results / f"{kind}.json")
        if record is None:
            return None
        found = _descend(record, rest)
        return None if found is None else Found(found, *self._date_of(record, rest))

    def _figures(self, name: str, rest: Sequence[str]) -> Found | None:
        about = _read(self.weights / name / "config.json")
        if about is None and self.results is not None:
            about = _read(self.results / "weights" / f"{name}.json")
        report = _descend((about or {}).get("figures", {}), rest[:1])
        value = _descend(report, rest[1:]) if report else None
        if value is None:
            return None
        date = measured_on(report, rest[1] if len(rest) > 1 else "")
        return Found(value, date, _older(date, name, str((about or {}).get("trained", ""))))

    def _date_of(self, record: dict[str, Any], rest: Sequence[str]) -> tuple[str, str]:
        """When the figure of a result was measured, and whether weights that ship have changed since."""
        date = str(record.get("date", ""))
        for place, name in enumerate(rest):
            row = _descend(record, rest[: place + 1])
            about = _read(self.weights / name / "config.json") if name.isidentifier() or "-" in name else None
            if about is None or not isinstance(row, dict):
                continue
            date = str(row.get("date", date))
            if stale := _older(date, name, str(about.get("trained", ""))):
                return date[:10], stale
        return date[:10], ""


def forget() -> None:
    """Read records again where they are asked for next: some have been measured since."""
    _read.cache_clear()


def require_results(folder: Path) -> Path:
    """A folder of results that somebody names.

    Raises:
        SeesayError: There is no such folder, or it holds no result.
    """
    if not any(folder.glob("*.json")):
        raise SeesayError(f"{folder} holds no results", allowed="the folder benchmarks/results of the source")
    return folder


def _older(date: str, name: str, trained: str) -> str:
    """Why a figure is stale: its weights were trained on a later day than it was measured."""
    if date and trained and date[:10] < trained[:10]:
        return f"measured {date[:10]}, before {name} was trained on {trained[:10]}"
    return ""


def _descend(table: Any, path: Sequence[str]) -> Any:
    for key in path:
        if isinstance(table, list) and key.isdigit():
            table = table[int(key)] if int(key) < len(table) else None
        elif isinstance(table, list):
            name, _, wanted = key.partition("=")
            table = next((entry for entry in table if isinstance(entry, dict) and str(entry.get(name)) == wanted), None)
        else:
            table = table.get(key) if isinstance(table, dict) else None
    return table


@cache
def _read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SeesayError(f"cannot read the record {path}: {error}") from error
    return found
