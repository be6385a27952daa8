"""Judgements of regions are taken up by number and letter, and counted by the rule that chose the region."""

from pathlib import Path

import pytest

from benchmarks.quality.judged_regions import LETTERS, RULES, VERDICTS, count, judge, read
from benchmarks.recording import __file__ as recording
from seesay.errors import SeesayError

ROWS = [
    {"number": number, "box": letter, "rule": rule, "verdict": ""}
    for number in ("1", "2")
    for letter, rule in zip(LETTERS, RULES, strict=True)
]


def test_a_line_judges_the_three_regions_of_a_phrase() -> None:
    judged = judge(ROWS, "2 right half wrong\n")
    assert [row["verdict"] for row in judged] == ["", "", "", "right", "half", "wrong"]
    assert [row["verdict"] for row in judge(judged, "1 wrong wrong wrong")] == ["wrong"] * 3 + [
        "right",
        "half",
        "wrong",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [("1 right half", "no judgement"), ("1 right half good", "no judgement"), ("3 right half wrong", "no phrase 3")],
)
def test_a_line_that_judges_nothing_is_named(line: str, message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        judge(ROWS, line)


def test_what_was_not_judged_counts_neither_way() -> None:
    found = count(["right", "", "half", "wrong"])
    assert found["not judged"] == 1
    assert found["percent_right_or_half"]["mean"] == pytest.approx(66.67)


def test_every_phrase_in_the_repository_has_a_region_by_each_rule() -> None:
    rows = read(Path(recording).parent / "results/judged_regions.tsv")
    by_phrase: dict[str, list[str]] = {}
    for row in rows:
        by_phrase.setdefault(row["number"], []).append(row["rule"])
        assert row["verdict"] in VERDICTS
    assert len(by_phrase) == 200
    assert all(sorted(rules) == sorted(RULES) for rules in by_phrase.values())
