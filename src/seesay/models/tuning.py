"""How a card shows the tables that `seesay tune` has chosen."""

from collections.abc import Mapping
from typing import Any

from seesay.models.weights import STEPS as STEPS

REMARKS = ("chosen on", "data")
"""Keys of tables of version 0.1 that say where they come from."""


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
