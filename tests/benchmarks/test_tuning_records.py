"""Every table that ships was chosen a second time and came out the same: `benchmarks/results/tuning` says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from seesay.catalogue.weights import PACKAGED

RECORDS = Path(__file__).parents[2] / "benchmarks/results/tuning"


def shipped_tables() -> dict[tuple[str, str], Any]:
    """The tables that `seesay tune` wrote into the weights that ship, by weights and section."""
    found = {}
    for path in sorted(PACKAGED.glob("*/config.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        for section in about.get("tuned") or {}:
            inside = "cascade" if section == "calibration" and "cascade" in about else None
            table = about[inside][section] if inside else about[section]
            found[path.parent.name, f"{inside}.{section}" if inside else section] = table
    return found


SHIPPED = shipped_tables()


def checks() -> list[tuple[str, dict[str, Any]]]:
    """What `seesay tune WEIGHTS --check --report FILE` found, by weights."""
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("*.json"))]
    return [(report["weights"], step) for report in reports for step in report["steps"] if "difference" in step]


def test_the_weights_that_ship_have_tables() -> None:
    assert {name for name, _ in SHIPPED} >= {"eye", "dvsa", "mrnn", "vse", "ensemble"}


@pytest.mark.parametrize("key", SHIPPED, ids=".".join)
def test_it_came_out_the_same(key: tuple[str, str]) -> None:
    name, section = key
    same = [step for weights, step in checks() if weights == name and step["section"] == section]
    assert same, f"no record; seesay tune {name} --check --report benchmarks/results/tuning/{name}.json"
    assert [step["changed"] for step in same] == [{}] * len(same)
    assert [step["difference"] for step in same] == [0.0] * len(same)
    assert [step["table"] for step in same] == [SHIPPED[key]] * len(same)
