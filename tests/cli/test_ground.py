"""`seesay ground`: which half of a picture a phrase speaks of, as boxes, JSON and a drawing."""

import json
from collections.abc import Callable
from functools import cache
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from seesay.images.features import FeatureSpec
from seesay.images.io import open_image

Run = Callable[..., Any]
load_once = cache(FeatureSpec.load_backbone)  # which takes longer than running it on these pictures
HALVES = ("--regions", "grid-1x2")


@pytest.fixture
def weights(
    aligner_run: Path, in_colours_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FeatureSpec, "load_backbone", load_once)
    return ("-m", str(aligner_run / "weights"))


@pytest.fixture
def photo(halves: Path) -> Path:
    return halves / "images" / "red_blue.png"


def test_phrases_find_their_half_and_are_drawn_there(
    seesay: Run, weights: tuple[str, str], photo: Path, tmp_path: Path
) -> None:
    finished = seesay("ground", photo, "red", "blue", *weights, *HALVES, "--json", "-o", tmp_path / "found.png")
    report = json.loads(finished.out)
    assert (finished.code, report["size"]) == (0, [96, 64])
    assert [row["phrase"] for row in report["phrases"]] == ["red", "blue"]
    assert [row["box"] for row in report["phrases"]] == [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]
    assert [row["pixels"] for row in report["phrases"]] == [[0, 0, 48, 64], [48, 0, 48, 64]]
    left, right = (row["point"][0] for row in report["phrases"])
    assert left < 0.5 < right
    drawn = open_image(tmp_path / "found.png")
    assert report["picture"] == str(tmp_path / "found.png")
    assert drawn.width == 800  # the photo enlarged, its shape kept
    assert drawn.height > 800 * 64 / 96  # and the phrases in their colours below


def test_without_a_file_name_it_draws_beside_the_user(
    seesay: Run, weights: tuple[str, str], photo: Path, tmp_path: Path
) -> None:
    finished = seesay("ground", photo, "red", *weights, *HALVES)
    assert finished.code == 0
    assert finished.out.split()[:6] == ["phrase", "score", "left", "top", "width", "height"]
    assert finished.out.split()[-4:] == ["0", "0", "48", "64"]
    assert finished.err == "drawn in red_blue-ground.png\n"
    assert open_image(tmp_path / "red_blue-ground.png").size == (800, 533)


def test_several_boxes_come_best_first(seesay: Run, weights: tuple[str, str], photo: Path) -> None:
    rows = json.loads(seesay("ground", photo, "blue", *weights, *HALVES, "-n", 2, "--json").out)["phrases"]
    assert [row["box"][0] for row in rows] == [0.5, 0]
    assert rows[0]["score"] > rows[1]["score"]


def test_the_words_of_a_sentence_are_laid_on_regions(seesay: Run, weights: tuple[str, str], photo: Path) -> None:
    arguments = ("--sentence", "something red beside blue", *weights, *HALVES, "--json")
    rows = json.loads(seesay("ground", photo, *arguments).out)["phrases"]
    box_of = {word: row["box"] for row in rows for word in row["phrase"].split()}
    assert box_of["red"] == [0, 0, 0.5, 1]
    assert box_of["blue"] == [0.5, 0, 1, 1]


def test_heat_colours_the_photo_under_the_boxes(
    seesay: Run, weights: tuple[str, str], photo: Path, tmp_path: Path
) -> None:
    for name, flags in (("plain.png", ()), ("heat.png", ("--heat",))):
        assert seesay("ground", photo, "red", *weights, *HALVES, "-o", tmp_path / name, *flags).code == 0
    plain, heat = (open_image(tmp_path / name) for name in ("plain.png", "heat.png"))
    assert plain.size == heat.size
    assert plain.tobytes() != heat.tobytes()


def test_searched_regions_are_the_default(seesay: Run, weights: tuple[str, str], photo: Path) -> None:
    (row,) = json.loads(seesay("ground", photo, "red", *weights, "--json").out)["phrases"]
    left, _, right, _ = row["box"]
    assert left < 0.1
    assert right < 0.7


@pytest.mark.parametrize(
    ("phrase", "note"),
    [
        ("zebra", "has never learned 'zebra': the box means nothing"),
        ("red zebra", "has never learned 'zebra': only the rest was looked for"),
    ],
)
def test_words_that_were_never_learned_are_named(
    seesay: Run, weights: tuple[str, str], photo: Path, phrase: str, note: str
) -> None:
    finished = seesay("ground", photo, phrase, "red", *weights, *HALVES, "--json")
    assert finished.code == 0
    assert note in finished.err
    assert [row["unknown"] for row in json.loads(finished.out)["phrases"]] == [["zebra"], []]


def test_in_a_sentence_words_that_name_nothing_or_are_unknown_have_no_box_of_their_own(
    seesay: Run, weights: tuple[str, str], photo: Path
) -> None:
    finished = seesay("ground", photo, "--sentence", "a red is in the zebra blue", *weights, *HALVES, "--json")
    rows = json.loads(finished.out)["phrases"]
    assert [(row["phrase"], row["unknown"]) for row in rows] == [("a red", []), ("is in the zebra blue", ["zebra"])]
    assert "has never learned 'zebra': only the rest was looked for" in finished.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is nothing to look for\n  allowed: phrases, or --sentence"),
        (("red", "--sentence", "red"), "there is both phrases and a sentence"),
        (("--sentence", "🐶"), "has no words"),
        (
            ("red", "--regions", "circles"),
            "no region scheme 'circles'\n  allowed: search-N, whole, windows-N",
        ),
        (("red", "-o", "found.txt"), "cannot draw into found.txt\n  allowed: .png"),
    ],
)
def test_what_cannot_be_done_is_refused(
    seesay: Run, weights: tuple[str, str], photo: Path, arguments: tuple[str, ...], message: str
) -> None:
    finished = seesay("ground", photo, *arguments, *weights)
    assert finished.code == 2
    assert message in finished.err


@pytest.mark.usefixtures("colours_named", "in_colours_cache")
class TestPhrasesOfATree:
    """HM-LSTM in place of DVSA."""

    @pytest.fixture(autouse=True)
    def load_fast(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(FeatureSpec, "load_backbone", load_once)

    def test_phrases_find_their_half(self, seesay: Run, phrases_run: Path, photo: Path) -> None:
        arguments = ("-m", phrases_run / "weights", *HALVES, "--json")
        rows = json.loads(seesay("ground", photo, "red", "blue", *arguments).out)["phrases"]
        assert [row["box"] for row in rows] == [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]

    def test_what_a_sentence_names_is_laid_on_regions(self, seesay: Run, phrases_run: Path, photo: Path) -> None:
        arguments = ("--sentence", "something red beside blue", "-m", phrases_run / "weights", *HALVES, "--json")
        rows = json.loads(seesay("ground", photo, *arguments).out)["phrases"]
        box_of = {word: row["box"] for row in rows for word in row["phrase"].split()}
        assert box_of["red"] == [0, 0, 0.5, 1]
        assert box_of["blue"] == [0.5, 0, 1, 1]


def test_weights_that_know_no_regions_are_refused(seesay: Run, colours_run: Path, photo: Path) -> None:
    finished = seesay("ground", photo, "red", "-m", colours_run / "weights")
    assert finished.code == 2
    assert "colours sees an image as a whole and finds no regions" in finished.err


def test_a_photo_that_cannot_be_opened_is_named(seesay: Run, weights: tuple[str, str], tmp_path: Path) -> None:
    finished = seesay("ground", tmp_path / "absent.jpg", "red", *weights)
    assert finished.code == 2
    assert "absent.jpg" in finished.err


def test_a_tall_thin_photo_is_drawn_too(seesay: Run, weights: tuple[str, str], tmp_path: Path) -> None:
    Image.new("RGB", (3, 200), "red").save(tmp_path / "thin.png")
    assert seesay("ground", tmp_path / "thin.png", "red", "blue", *weights, *HALVES, "-o", tmp_path / "o.png").code == 0
    assert open_image(tmp_path / "o.png").height > 800


def test_a_phrase_without_words_is_refused(seesay: Run, photo: Path, tmp_path: Path) -> None:
    finished = seesay("ground", photo, "red", " ", "-o", tmp_path / "found.png")
    assert finished.code == 2
    assert "a phrase has no words" in finished.err
    assert not (tmp_path / "found.png").exists()


def test_a_photo_may_come_from_stdin(
    seesay: Run, weights: tuple[str, str], photo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(photo.read_bytes())))
    piped = json.loads(seesay("ground", "-", "red", *weights, *HALVES, "--json").out)
    named = json.loads(seesay("ground", photo, "red", *weights, *HALVES, "--json").out)
    assert piped["photo"] == "image 1"
    assert piped["phrases"] == named["phrases"]
