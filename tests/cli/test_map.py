"""`seesay map` with a joint embedding that has learned its colours."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Call = Callable[..., Any]


@pytest.fixture
def draw(seesay: Call, colours_run: Path, colours: Path, in_colours_cache: Path) -> Call:
    return lambda *arguments: seesay("map", colours, "-m", colours_run / "weights", *arguments)


def test_a_picture_and_a_page_are_drawn(draw: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = draw()
    assert code == 0
    assert out.splitlines()[0] == "8 photos, 16 sentences"
    assert "drawn in map.png" in err
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.size == (1500, 1080)
    assert "8 photos of colours and their sentences, as colours sees them" in (tmp_path / "map.html").read_text()


def test_places_can_be_read_by_a_script(draw: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = draw("-n", 5, "--json", "--seed", 1)
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert len(report["images"]) == 5
    assert [len(row["sentences"]) for row in report["images"]] == [2] * 5
    assert 0 <= report["mean_line"]["own"] <= 1.5
    assert report["files"] == []
    assert not list(tmp_path.iterdir())
    assert json.loads(draw("-n", 5, "--json", "--seed", 1).out) == report


def test_what_cannot_be_drawn_into_is_refused_before_anything_is_computed(draw: Call) -> None:
    code, _, err = draw("-o", "map.docx")
    assert code == 2
    assert "cannot draw into map.docx" in err


def test_a_model_without_one_vector_a_sentence_is_refused(
    seesay: Call, aligner_run: Path, halves: Path, in_colours_cache: Path
) -> None:
    code, _, err = seesay("map", halves, "-m", aligner_run / "weights", "--json")
    assert code == 2
    assert "no one vector" in err


@pytest.mark.usefixtures("colours_named", "in_colours_cache")
def test_a_model_of_phrases_is_drawn_by_its_wholes(seesay: Call, phrases_run: Path, halves: Path) -> None:
    finished = seesay("map", halves, "-m", phrases_run / "weights", "--split", "train", "--json")
    assert finished.code == 0, finished.err
    report = json.loads(finished.out)
    assert report["mean_line"]["own"] < report["mean_line"]["any"]
