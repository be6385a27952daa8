"""`seesay identify`: the colour that a description names, among pictures of all colours."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay.images.features import FeatureSpec
from seesay.images.io import open_image

Run = Callable[..., Any]


@pytest.fixture
def weights(
    identifier_run: Path, in_colours_cache: Path, small_backbone: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: small_backbone)
    return ("-m", str(identifier_run / "weights"))


def test_the_picture_that_is_meant_comes_first_and_probabilities_sum_to_one(
    seesay: Run, weights: tuple[str, str], photo_folder: Path
) -> None:
    finished = seesay("identify", "everything here is blue", photo_folder, *weights, "--json")
    report = json.loads(finished.out)
    assert finished.code == 0
    assert report["n_photos"] == 4
    assert report["photos"][0]["photo"] == str(photo_folder / "blue.png")
    assert report["photos"][0]["choice"] > 0.5
    assert sum(row["choice"] for row in report["photos"]) == pytest.approx(1, abs=1e-3)
    choices, matches = ([row[key] for row in report["photos"]] for key in ("choice", "match"))
    assert choices == sorted(choices, reverse=True)
    assert matches == sorted(matches, reverse=True)
    assert all(0 <= match <= 1 for match in matches)


def test_a_table_shows_the_best_few(seesay: Run, weights: tuple[str, str], photo_folder: Path) -> None:
    finished = seesay("identify", "a green picture", photo_folder, *weights, "-n", 2)
    lines = finished.out.splitlines()
    assert finished.code == 0
    assert lines[0].split() == ["choice", "match", "photo"]
    assert len(lines) == 3
    assert "green.png" in lines[1]


def test_a_photo_in_the_place_of_the_description_is_refused(seesay: Run, photo_folder: Path) -> None:
    photos = (photo_folder / "blue.png", photo_folder / "green.png")
    finished = seesay("identify", *photos)
    assert finished.code == 2
    assert f"{photos[0]} is a photo, and there is no description" in finished.err
    assert f'try: seesay identify "a man with a camera" {photos[0]} {photos[1]}' in finished.err


def test_the_drawing_has_a_row_of_picture_heat_and_words_for_each(
    seesay: Run, weights: tuple[str, str], photo_folder: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    assert seesay("identify", "a red picture", photo_folder, *weights, "-n", 1, "-o", one).code == 0
    finished = seesay("identify", "a red picture", photo_folder, *weights, "-n", 2, "-o", two)
    assert finished.err == f"drawn in {two}\n"
    first, second = open_image(one), open_image(two)
    assert first.width == second.width > 3 * 300
    assert second.height > first.height + 200


@pytest.mark.parametrize(
    ("method", "said"), [("gaze", "there is no explainer 'gaze'"), ("alignment", "cannot be explained by alignment")]
)
def test_a_method_that_cannot_explain_is_refused_with_what_to_type(
    seesay: Run, weights: tuple[str, str], photo_folder: Path, method: str, said: str
) -> None:
    finished = seesay("identify", "a red picture", photo_folder, *weights, "--method", method)
    assert (finished.code, finished.out) == (2, "")
    assert said in finished.err
    assert "try: --method " in finished.err


def test_pictures_that_cannot_be_used_are_named_and_the_others_ranked(
    seesay: Run, weights: tuple[str, str], photo_folder: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    finished = seesay("identify", "a red picture", photo_folder, broken, *weights)
    assert finished.code == 1
    assert "red.png" in finished.out.splitlines()[1]
    assert "broken.png" in finished.err


@pytest.mark.parametrize("sentence", ["", "?!"])
def test_a_description_without_words_is_refused(
    seesay: Run, weights: tuple[str, str], photo_folder: Path, sentence: str
) -> None:
    finished = seesay("identify", sentence, photo_folder, *weights)
    assert (finished.code, finished.out) == (2, "")
    assert "has no words" in finished.err


def test_unknown_words_are_pointed_out(seesay: Run, weights: tuple[str, str], photo_folder: Path) -> None:
    finished = seesay("identify", "zebras", photo_folder, *weights)
    assert finished.code == 0
    assert "never learned 'zebras': the choice means nothing" in finished.err


def test_an_embedding_chooses_too_and_leaves_out_a_probability_that_it_does_not_have(
    seesay: Run, model: tuple[str, str], in_colours_cache: Path, photo_folder: Path
) -> None:
    finished = seesay("identify", "red", photo_folder, *model, "--json")
    report = json.loads(finished.out)
    assert finished.code == 0
    assert report["photos"][0]["photo"] == str(photo_folder / "red.png")
    assert sum(row["choice"] for row in report["photos"]) == pytest.approx(1, abs=1e-3)
    assert {row["match"] for row in report["photos"]} == {None}


def test_weights_that_only_describe_are_refused(seesay: Run, photo_folder: Path) -> None:
    finished = seesay("identify", "red", photo_folder, "-m", "dvsa-captions")
    assert finished.code == 2
    assert "gives no probability of a match" in finished.err


def test_a_file_that_is_no_picture_format_is_refused_before_anything_is_computed(
    seesay: Run, photo_folder: Path
) -> None:
    finished = seesay("identify", "red", photo_folder, "-o", "sheet.pdf")
    assert finished.code == 2
    assert "allowed: .png" in finished.err
