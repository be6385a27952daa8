"""`seesay regions`: the halves of all pictures that a colour fits best."""

import json
import shutil
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
def weights(
    aligner_run: Path, in_colours_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FeatureSpec, "load_backbone", load_once)
    return ("-m", str(aligner_run / "weights"))


def test_the_best_regions_are_those_of_the_colour(seesay: Run, weights: tuple[str, str], halves: Path) -> None:
    finished = seesay("regions", "red", "blue", "--in", halves, *weights, "-n", 5, "--json")
    assert finished.code == 0
    for row in json.loads(finished.out)["snippets"]:
        assert len({region["photo"] for region in row["regions"]}) == 5
        scores = [region["score"] for region in row["regions"]]
        assert scores == sorted(scores, reverse=True)
        for region in row["regions"]:
            left, right = Path(region["photo"]).stem.split("_")
            assert row["snippet"] == (left if region["box"] == [0, 0, 0.5, 1] else right)


def test_a_table_names_pictures_and_edges_and_a_sheet_is_drawn(
    seesay: Run, weights: tuple[str, str], halves: Path, tmp_path: Path
) -> None:
    finished = seesay("regions", "red", "--in", halves, "--split", "test", *weights, "-n", 2)
    assert (finished.code, finished.err) == (0, "drawn in regions.png\n")
    lines = finished.out.splitlines()
    assert lines[0].split() == ["phrase", "score", "photo", "left,", "top,", "right,", "bottom"]
    assert lines[1].split()[0] == "red"
    assert "50 %" in lines[1]
    assert open_image(tmp_path / "regions.png").width > 2 * 200


def test_several_snippets_have_a_row_each(seesay: Run, weights: tuple[str, str], halves: Path, tmp_path: Path) -> None:
    for name, snippets in (("one.png", ["red"]), ("two.png", ["red", "blue"])):
        arguments = (*snippets, "--in", halves, *weights, "-n", 3, "-o", tmp_path / name)
        assert seesay("regions", *arguments).code == 0
    assert open_image(tmp_path / "two.png").height > open_image(tmp_path / "one.png").height


def test_a_folder_of_photos_will_do(seesay: Run, weights: tuple[str, str], halves: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("red_blue.png", "green_red.png", "white_black.png"):
        shutil.copy(halves / "images" / name, folder)
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    finished = seesay("regions", "red", "--in", folder, *weights, "--json", "-n", 2)
    report = json.loads(finished.out)
    assert finished.code == 1
    assert list(report["failures"]) == [str(folder / "broken.png")]
    found = {Path(region["photo"]).name for region in report["snippets"][0]["regions"]}
    assert found == {"red_blue.png", "green_red.png"}


def test_what_cannot_be_done_is_refused(seesay: Run, weights: tuple[str, str], halves: Path) -> None:
    assert "there is no collection" in seesay("regions", "red", "--in", "nowhere-at-all", *weights).err
    finished = seesay("regions", "red", "--in", halves, *weights, "-o", "sheet.doc")
    assert (finished.code, "cannot draw into sheet.doc" in finished.err) == (2, True)


def test_a_snippet_without_a_known_word_is_pointed_out(seesay: Run, weights: tuple[str, str], halves: Path) -> None:
    finished = seesay("regions", "zebra", "--in", halves, *weights, "--json")
    assert (finished.code, "knows no word of 'zebra'" in finished.err) == (0, True)


def test_a_snippet_without_words_is_refused(seesay: Run, halves: Path) -> None:
    finished = seesay("regions", "red", "", "--in", halves, "--json")
    assert finished.code == 2
    assert "a phrase has no words" in finished.err
