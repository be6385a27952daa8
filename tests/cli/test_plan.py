"""`seesay plan`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


def test_a_plan_names_the_store_and_marks_what_it_extrapolates(seesay: Call) -> None:
    code, out, err = seesay("plan", "--photos", 100_000_000, "--machines", 100, "--cores", 16)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "100,000,000 photos, 100 machines of 16 cores"
    assert lines[1].startswith(
        "store             a PostgreSQL server with pgvector: 100 machines index into one library"
    )
    assert "* extrapolated: no collection of this size was measured" in lines
    assert all(" * " in line for line in lines if line.startswith(("disk", "indexing")))


def test_json_holds_every_estimate_with_the_sizes_that_it_rests_on(seesay: Call) -> None:
    code, out, err = seesay("plan", "--photos", 1000, "--cores", 2, "--json")
    assert (code, err) == (0, "")
    plan = json.loads(out)
    assert (plan["photos"], plan["machines"], plan["cores"], plan["store"]) == (1000, 1, 2, "sqlite")
    assert {estimate["name"] for estimate in plan["estimates"]} >= {"indexing", "disk", "memory_search", "search"}
    assert all(len(estimate["measured"]) == 2 for estimate in plan["estimates"])


@pytest.mark.parametrize("photos", ["0", "-1", str(10**18)])
def test_a_number_that_nobody_has_is_refused_by_name(seesay: Call, photos: str) -> None:
    code, out, err = seesay("plan", "--photos", photos)
    assert (code, out) == (2, "")
    assert "photos is " + photos in err
    assert "a whole number from 1 to 1,000,000,000,000" in err


@pytest.mark.parametrize("photos", ["many", "1e6", "2.5", ""])
def test_what_is_no_number_is_refused(seesay: Call, photos: str) -> None:
    code, out, err = seesay("plan", "--photos", photos)
    assert (code, out) == (2, "")
    assert "--photos" in err
