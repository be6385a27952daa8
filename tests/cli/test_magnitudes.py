"""`seesay magnitudes`: the words and regions that count most."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from seesay.images.features import FeatureSpec
from seesay.images.io import open_image

Run = Callable[..., Any]
load_once = cache(FeatureSpec.load_backbone)  # which takes longer than running it on these pictures


@pytest.fixture
def options(
    aligner_run: Path, halves: Path, in_colours_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    monkeypatch.setattr(FeatureSpec, "load_backbone", load_once)
    return ("-m", str(aligner_run / "weights"), "--data", str(halves), "--split", "all")


def test_words_that_can_be_seen_are_longer_than_those_that_hold_a_sentence_together(
    seesay: Run, options: tuple[str, ...]
) -> None:
    finished = seesay("magnitudes", *options, "-n", 3, "--json")
    report = json.loads(finished.out)
    colours = {"red", "green", "blue", "yellow", "black", "white"}
    assert (finished.code, report["words"]) == (0, 10)
    assert {row["word"] for row in report["longest"]} <= colours
    assert {row["word"] for row in report["shortest"]} <= {"something", "beside", "and", "also"}
    lengths = [row["magnitude"] for row in (*report["longest"], *report["shortest"][::-1])]
    assert lengths == sorted(lengths, reverse=True)
    assert report["spearman_idf"] > 0


def test_the_table_has_both_ends_and_the_correlation(seesay: Run, options: tuple[str, ...]) -> None:
    finished = seesay("magnitudes", *options, "-n", 2)
    lines = finished.out.splitlines()
    assert lines[0].split() == ["length", "shortest", "words", "length", "longest", "words"]
    assert len(lines) == 4
    assert lines[-1].startswith("rank correlation with the idf of 10 words: ")


def test_the_most_and_least_salient_regions_are_drawn(seesay: Run, options: tuple[str, ...], tmp_path: Path) -> None:
    finished = seesay("magnitudes", *options, "-n", 4, "-o", tmp_path / "regions.png")
    assert (finished.code, finished.err) == (0, f"drawn in {tmp_path / 'regions.png'}\n")
    sheet = open_image(tmp_path / "regions.png")
    assert sheet.width > 4 * 140
    assert sheet.height > 2 * 140


def test_too_few_words_are_refused_with_the_flag_that_helps(seesay: Run, options: tuple[str, ...]) -> None:
    finished = seesay("magnitudes", *options, "--min-count", 1000)
    assert (finished.code, "--min-count 1" in finished.err) == (2, True)
