"""Tables of config.json that are chosen after training, and the weights that each was chosen beside.

`seesay tune` writes, besides a table, a record under `tuned`: the data and split on which it was chosen, the date, the
version, and the digest of every weights file that took part. A table that was chosen beside other weights than those
that are there is refused: its numbers would mean something else. Tables without a record, as in folders of version
0.1, are read as they are.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError
from seesay.models.weights import Weights, find

STEPS = {
    "prune": "pruned",
    "hubness": "hubness",
    "cascade": "cascade",
    "calibration": "calibration",
    "captions": "captioning",
    "grounding": "grounding",
    "tags": "tags",
    "ensemble": "members",
}
"""What `seesay tune --only` takes, in the order in which later steps need earlier ones, with the table it writes."""


REMARKS = ("chosen on", "data")
"""Keys of tables of version 0.1 that say where they come from."""


def weights_digest(folder: Path) -> str:
    """The sha256 of a weights file, in hex; read again only where the file has changed."""
    path = folder / "model.safetensors"
    try:
        found = path.stat()
        return _digest(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise SeesayError(f"cannot read the weights {path}: {error.strerror or error}") from error


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tuned_table(weights: Weights, section: str) -> Any:
    """A table of config.json, once it fits the weights that are there; None where there is none.

    Args:
        section: The name of the table; `cascade.calibration` is that of a later stage of search.

    Raises:
        SeesayError: It was chosen beside other weights.
    """
    table: Any = weights.about
    for key in section.split("."):
        table = table.get(key) if isinstance(table, Mapping) else None
    if table is not None:
        check_digests(weights, section.split(".")[-1])
    return table


def check_digests(weights: Weights, section: str) -> None:
    """Refuse a table that was chosen beside other weights than those that are there."""
    record = weights.about.get("tuned", {}).get(section, {})
    for name, digest in record.get("weights", {}).items():
        is_own = name == weights.name and weights.about["family"] != "ensemble"
        found = weights_digest(weights.folder if is_own else find(name).folder)
        if found != digest:
            step = next((step for step, own in STEPS.items() if own == section), section)
            raise SeesayError(
                f"{weights.folder / 'config.json'}: the table '{section}' was chosen beside {name} {str(digest)[:12]}, "
                f"installed is {found[:12]}",
                hint=f"seesay tune {weights.name} --only {step}",
            )


def _shown(key: str, value: Any) -> str:
    """A key of a table as a card shows it; a calibration inside a table has a row of its own."""
    if isinstance(value, Mapping):
        subtracted = [value[side] for side in ("of_images", "of_texts") if value.get(side)]
        hubness = f" (hubness {' and '.join(map(str, subtracted))})" if subtracted else ""
        return f"{key} {value['weight']}{hubness}" if "weight" in value else ""
    if value is None:
        return ""
    return f"{key} {' + '.join(map(str, value)) if isinstance(value, list) else value}"


def card_lines(about: Mapping[str, Any]) -> list[str]:
    """The tables as a card shows them, each with where it was chosen."""
    rows = []
    for step, section in STEPS.items():
        table = about.get(section)
        if section == "calibration" and table is None:
            table = (about.get("cascade") or {}).get("calibration")
        if isinstance(table, list):
            table = {member["name"]: member for member in table}
        if not isinstance(table, Mapping) or step == "prune":  # which the card says in a sentence
            continue
        record = about.get("tuned", {}).get(section)
        if record:
            chosen = f"{record['data']}/{record['split']}, {record['date'][:10]}"
        else:
            chosen = str(table.get("chosen on") or table.get("data") or "")
        shown = (_shown(key, value) for key, value in table.items() if key not in REMARKS)
        rows.append(f"| {step} | {', '.join(filter(None, shown))} | {chosen} |")
    if not rows:
        return []
    return ["## Tuned", "", "| step | table | chosen on |", "| --- | --- | --- |", *rows, ""]
