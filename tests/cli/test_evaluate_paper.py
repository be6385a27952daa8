"""`seesay evaluate --paper`: from records, by name, and what is missing is said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_the_claims_of_a_paper_are_printed_with_our_figures(seesay: Run) -> None:
    finished = seesay("evaluate", "--paper", "identifier")
    assert finished.code == 0
    assert "Section 3.3: the proposed model beats the baseline" in finished.out
    assert "paper: 93.5 against 91.1 (+2.4)" in finished.out


def test_json_has_a_row_for_each_claim(seesay: Run) -> None:
    report = json.loads(seesay("evaluate", "--paper", "smlstm", "--json").out)
    assert report["paper"] == "smlstm"
    assert {"where", "claim", "paper", "published", "improved", "verdict", "why", "command"} == set(report["claims"][0])


def test_a_place_of_the_paper_may_be_asked_for_alone(seesay: Run) -> None:
    rows = json.loads(seesay("evaluate", "--paper", "mrnn", "--where", "table 9", "--json").out)["claims"]
    assert len(rows) == 3
    assert all("Table 9" in row["where"] for row in rows)
    assert seesay("evaluate", "--paper", "mrnn", "--where", "Table 9").out.endswith("claims: 3 do not replicate.\n")


def test_what_cannot_be_measured_again_is_named_and_the_record_still_shown(
    seesay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEESAY_DATA", str(tmp_path))
    finished = seesay("evaluate", "--paper", "mrnn", "--measure", "--where", "Figure 3")
    assert finished.code == 1
    assert "not measured: python -m benchmarks.quality.neighbours\n  the data flickr8k is missing" in finished.err
    assert finished.out.endswith("1 claim: 1 replicates.\n")


def test_without_the_records_what_they_held_is_not_yet_measured(seesay: Run, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    report = json.loads(seesay("evaluate", "--paper", "smlstm", "--records", tmp_path, "--json").out)
    assert {row["verdict"] for row in report["claims"]} == {"not yet measured", "cannot be measured here"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--paper", "gan"), "there is no paper 'gan'\n  allowed: mrnn, hmlstm, dvsa, smlstm, identifier"),
        (("--paper", "mrnn", "--records", "nowhere"), "nowhere holds no results"),
        (("--paper", "mrnn", "--data", "flickr8k"), "--paper shows what is recorded, and takes no data"),
        (
            ("--paper", "mrnn", "--where", "Table 99"),
            "no claim at 'Table 99'\n  allowed: Table 1, Table 2",
        ),
        (("vse", "--data", "flickr8k", "--measure"), "--measure is for a paper"),
        (("vse", "--data", "flickr8k", "--where", "Table 2"), "--where is for a paper"),
        (("vse",), "there is no data to measure on"),
    ],
)
def test_what_does_not_fit_is_refused(seesay: Run, options: tuple[str, ...], message: str) -> None:
    finished = seesay("evaluate", *options)
    assert (finished.code, finished.out) == (2, "")
    assert message in finished.err
