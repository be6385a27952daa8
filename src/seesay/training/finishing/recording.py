"""The one way a table that was chosen after training gets into a weights folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from seesay.catalogue.weights import ENSEMBLE, REMARKS, find, read_about, weights_digest
from seesay.models.pretrained import record_table


@dataclass(frozen=True)
class Change:
    """What a step did to a table: its keys with the value before and after; None where there was or is none."""

    section: str
    keys: dict[str, tuple[Any, Any]]


def record(folder: Path, section: str, table: Any, *, data: str, split: str, beside: Sequence[str] = ()) -> Change:
    """Write a table into config.json, with all that is needed to judge it later, and renew the card.

    Args:
        section: The name of the table; `cascade.calibration` is that of a later stage of search.
        table: Keys and values; of an ensemble, the list of its members.
        data: The collections that it was chosen on.
        split: Their split.
        beside: Other weights that took part: those of earlier stages, or the members of an ensemble.

    Returns:
        What is different from the table that was there.
    """
    change = compare(folder, section, table)
    about = read_about(folder).about
    digests = {} if about["family"] == ENSEMBLE else {str(about["name"]): weights_digest(folder)}
    digests |= {name: weights_digest(find(name).folder) for name in beside}
    tuned = {
        "data": data,
        "split": split,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": version("seesay"),
        "weights": digests,
    }
    record_table(folder, section, table, tuned)
    return change


def compare(folder: Path, section: str, table: Any) -> Change:
    """What would be different if a table were written."""
    before: Any = read_about(folder).about
    for key in section.split("."):
        before = before.get(key) if isinstance(before, Mapping) else None
    old, new = (_flat(each) for each in (before or {}, table))
    keys = {key: (old.get(key), new.get(key)) for key in (*old, *(key for key in new if key not in old))}
    return Change(section, {key: values for key, values in keys.items() if values[0] != values[1]})


def _flat(table: Any, above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(table, list):
        table = {member["name"]: {k: v for k, v in member.items() if k != "name"} for member in table}
    for key, value in table.items():
        if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
            value = {str(place): each for place, each in enumerate(value, 1)}
        if isinstance(value, Mapping):
            found |= _flat(value, f"{above}{key}.")
        elif value is not None and key not in REMARKS:
            found[f"{above}{key}"] = value
    return found
