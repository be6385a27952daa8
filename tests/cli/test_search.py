"""`seesay search`, from the first call in a folder that nobody has indexed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.library.stores.sqlite import SqliteStore

Call = Callable[..., Any]


def names(out: str) -> list[str]:
    return [Path(line.split("  ")[-1]).name for line in out.splitlines()]


def test_the_first_search_indexes_the_folder(
    seesay: Call, photo_folder: Path, model: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seesay.library.library.DEFAULT_MODEL", model[1])
    code, out, err = seesay("search", "a red picture", photo_folder, "-n", 2)
    assert code == 0
    assert err == f"seesay: {photo_folder}: 4 photos: 4 added\n"
    assert names(out)[0] == "red.png"
    assert len(names(out)) == 2


def test_later_searches_follow_the_folder(seesay: Call, indexed: Path) -> None:
    shutil.copy(indexed / "blue.png", indexed / "azure.png")
    (indexed / "red.png").unlink()
    code, out, err = seesay("search", "a blue picture", indexed, "--top", 9)
    assert code == 0
    assert "3 photos" not in err
    assert "4 photos: 1 added, 1 removed" in err
    assert out.splitlines()[0].endswith("blue.png  (+1)")
    assert "red.png" not in out


def test_without_a_folder_everything_known_is_searched(seesay: Call, indexed: Path) -> None:
    code, out, err = seesay("search", "a green picture", "-n", 1)
    assert (code, err) == (0, "")
    assert names(out) == ["green.png"]


def test_a_folder_restricts_the_search(seesay: Call, indexed: Path) -> None:
    _, out, _ = seesay("search", "a red picture", indexed / "2019")
    assert sorted(names(out)) == ["white.png"]


def test_no_index_searches_what_is_there(seesay: Call, indexed: Path) -> None:
    (indexed / "red.png").unlink()
    _, out, _ = seesay("search", "a red picture", "--no-index", "-n", 1)
    assert names(out) == ["red.png"]


def test_scores_have_words_where_the_weights_are_calibrated(
    seesay: Call, indexed: Path, model: tuple[str, ...], calibrated: None
) -> None:
    _, out, _ = seesay("search", "a red picture", "-n", 4, "--no-index")
    first, *_, last = out.splitlines()
    assert first.split()[1:3] == ["%", "likely"]
    assert last.split()[1:3] == ["%", "unlikely"]
    _, out, _ = seesay("search", "a red picture", "--min-score", 0.5, "--no-index")
    assert names(out) == ["red.png"]


def test_photos_like_a_photo(seesay: Call, indexed: Path, tmp_path: Path, colours: Path) -> None:
    shutil.copy(colours / "images" / "blue_0.png", tmp_path / "elsewhere.png")
    code, out, _ = seesay("search", "--like", tmp_path / "elsewhere.png", "-n", 1)
    assert code == 0
    assert names(out) == ["blue.png"]
    _, out, _ = seesay("search", indexed / "2019", "--like", tmp_path / "elsewhere.png")
    assert names(out) == ["white.png"]


def test_photos_like_a_part_of_a_photo(seesay: Call, indexed: Path, tmp_path: Path, colours: Path) -> None:
    both = Image.new("RGB", (80, 48))
    for place, name in ((0, "red_0.png"), (40, "blue_0.png")):
        with Image.open(colours / "images" / name) as image:
            both.paste(image, (place, 0))
    both.save(tmp_path / "both.png")
    for box, name in (("0,0,0.5,1", "red.png"), ("0.5,0,1,1", "blue.png")):
        _, out, _ = seesay("search", "--like", tmp_path / "both.png", "--box", box, "-n", 1)
        assert names(out) == [name]


def test_plus_and_minus(seesay: Call, indexed: Path) -> None:
    _, out, _ = seesay("search", "a picture", "--plus", "everything here is green", "-n", 1)
    assert names(out) == ["green.png"]
    scores = []
    for options in ((), ("--minus", "everything here is red")):
        _, out, _ = seesay("search", "a red picture", *options, "--json")
        scores.append({Path(row["path"]).name: row["score"] for row in json.loads(out)["results"]})
    assert scores[1]["red.png"] < scores[0]["red.png"]


def test_filters_by_date_folder_and_camera(seesay: Call, indexed: Path) -> None:
    os.utime(indexed / "red.png", (1_000_000_000, 1_000_000_000))  # in September 2001
    year = ("--in", "2001"), ("--in", "2001-09"), ("--before", "2002"), ("--after", "2001-09-08", "--before", "2001-10")
    for options in year:
        _, out, _ = seesay("search", "a blue picture", *options)
        assert names(out) == ["red.png"], options
    _, out, _ = seesay("search", "a blue picture", "--in", "2019")
    assert out == ""  # a year
    _, out, _ = seesay("search", "a blue picture", "--in", "./2019")
    assert names(out) == ["white.png"]
    assert seesay("search", "a blue picture", "--camera", "Canon").code == 1


def test_sorting_by_date(seesay: Call, indexed: Path) -> None:
    os.utime(indexed / "red.png", (1_000_000_000, 1_000_000_000))
    _, out, _ = seesay("search", "a red picture", "--sort", "date")
    assert names(out)[-1] == "red.png"


def test_json(seesay: Call, indexed: Path, own_library: Path, model: tuple[str, ...]) -> None:
    shutil.copy(indexed / "red.png", indexed / "copy.png")
    code, out, _ = seesay("search", "a red picture", "--json", "-n", 1)
    assert code == 0
    report = json.loads(out)
    (row,) = report.pop("results")
    understood = report.pop("understood")
    assert understood == {"without": [], "dates": None, "replaced": {}, "unknown": [], "language": None}
    assert report == {"query": "a red picture", "library": str(own_library), "model": model[1]}
    assert (row["path"], row["copies"]) == (str(indexed / "red.png"), [str(indexed / "copy.png")])
    assert (row["width"], row["height"], row["taken"], row["camera"], row["word"]) == (40, 48, None, None, None)
    assert row["score"] > 0.3
    assert set(row) == {
        "id", "path", "score", "word", "date", "taken", "camera", "width", "height", "copies", "tags", "box",
    }  # fmt: skip


def test_bare_paths_end_with_nul_and_keep_every_byte(seesay: Call, indexed: Path) -> None:
    odd = os.fsencode(indexed) + b"/new\nline caf\xe9.png"
    (indexed / "red.png").rename(os.fsdecode(odd))
    seesay("index")
    program = "import sys; from seesay.cli.main import run; run(sys.argv[1:])"
    command = [sys.executable, "-c", program, "search", "a red picture", "-n", "1", "--paths0", "--no-index"]
    finished = subprocess.run(command, capture_output=True, timeout=120)
    assert finished.stdout == odd + b"\0", finished.stderr


def test_odd_names_cannot_steer_the_terminal(seesay: Call, indexed: Path) -> None:
    (indexed / "red.png").rename(indexed / "\x1b[31mred\n.png")
    _, out, _ = seesay("search", "a red picture", "-n", 1)
    assert out.count("\n") == 1
    assert "\\x1b[31mred\\n.png" in out
    _, out, _ = seesay("search", "a red picture", "-n", 1, "--json")
    assert json.loads(out)["results"][0]["path"] == str(indexed / "\x1b[31mred\n.png")


def test_queries_from_stdin(seesay: Call, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("a red picture\n\n  a blue picture \n"))
    code, out, _ = seesay("search", "-", indexed, "-n", 1)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "# a red picture"
    assert lines[1].endswith("red.png")
    assert lines[2:4] == ["", "# a blue picture"]
    assert lines[4].endswith("blue.png")
    monkeypatch.setattr(sys, "stdin", StringIO("a red picture\n"))
    _, out, _ = seesay("search", "-", "--json", "-n", 1)
    assert [answer["query"] for answer in json.loads(out)] == ["a red picture"]
    monkeypatch.setattr(sys, "stdin", StringIO("\n"))
    assert seesay("search", "-").code == 2


def test_a_contact_sheet(seesay: Call, indexed: Path, tmp_path: Path) -> None:
    code, _, err = seesay("search", "a red picture", "-o", tmp_path / "sheet.png", "-n", 3)
    assert code == 0
    assert f"drawn to {tmp_path / 'sheet.png'}" in err
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > sheet.height
        red, green, _ = np.asarray(sheet).transpose(2, 0, 1).astype(int)
    assert ((red > 150) & (green < 90)).sum() > 10_000
    code, _, err = seesay("search", "a red picture", "-o", tmp_path / "sheet.bmp")
    assert code == 2


def test_unknown_words_are_told(seesay: Call, indexed: Path) -> None:
    code, _, err = seesay("search", "a red xyzzyx", "--minus", "qwertz guitar")
    assert code == 0
    assert err.splitlines() == [
        "seesay: the model has never learned 'xyzzyx': search does without",
        "seesay: the model has never learned 'qwertz': search does without",
    ]


def test_a_query_of_unknown_words_alone_finds_nothing_and_says_so(seesay: Call, indexed: Path) -> None:
    code, out, err = seesay("search", "the xyzzyx")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "seesay: the model has never learned 'xyzzyx': there is nothing else to search for",
        "seesay: no photo fits",
    ]


def test_a_misspelt_word_is_read_as_the_known_one_unless_it_is_to_be_kept(seesay: Call, indexed: Path) -> None:
    code, out, err = seesay("search", "a greeen picture")
    assert (code, err) == (0, "seesay: 'greeen' is read as 'green'\n")
    assert out == seesay("search", "a green picture").out
    code, _, err = seesay("search", "greeen", "--exact")
    assert code == 1
    assert "seesay: did you mean 'green' instead of 'greeen'?" in err.splitlines()


def test_what_photos_are_not_to_show_and_when_they_are_from_is_understood(seesay: Call, indexed: Path) -> None:
    code, out, err = seesay("search", "a red picture without green from 1999", "--json")
    assert code == 1
    assert "seesay: without: green" in err.splitlines()
    assert "seesay: from: 1999" in err.splitlines()
    found = json.loads(out)
    assert found["understood"]["without"] == ["green"]
    assert found["understood"]["dates"]["after"] == "1999-01-01"
    assert (
        seesay("search", "a red picture without green").out == seesay("search", "a red picture", "--minus", "green").out
    )


def test_a_tag_that_does_not_exist_is_refused(seesay: Call, indexed: Path) -> None:
    code, _, err = seesay("search", "a red picture", "--tag", "guitarr")
    assert code == 2
    assert "there is no tag 'guitarr'\n  allowed: " in err
    assert seesay("search", "a red picture", "--tag", "church").code in (0, 1)


def test_nothing_found_ends_with_1(seesay: Call, indexed: Path) -> None:
    code, out, err = seesay("search", "a red picture", "--before", "1990")
    assert (code, out, err) == (1, "", "seesay: no photo is before 1990\nseesay: no photo fits\n")
    code, out, err = seesay("search", "a red picture", "--before", "1990", "--json")
    assert (code, json.loads(out)["results"], err) == (1, [], "seesay: no photo is before 1990\n")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("a red picture", "--camera", "leika"), "no photo is from a camera named 'leika'"),
        (("a red picture", "--in", "pariss"), "no photo is in a folder named 'pariss'"),
        (("a red picture from 1999",), "no photo is from 1999-01-01 or later and before 2000-01-01"),
        (("a red picture", "empty"), "there are no photos in "),
    ],
)
def test_the_filter_that_leaves_out_every_photo_is_named(
    seesay: Call, indexed: Path, given: tuple[str, ...], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed.parent / "empty").mkdir()
    monkeypatch.chdir(indexed.parent)
    code, out, err = seesay("search", *given)
    assert (code, out) == (1, "")
    assert f"seesay: {reason}" in err


def test_a_query_without_quotation_marks_is_shown_with_them(seesay: Call, indexed: Path) -> None:
    code, _, err = seesay("search", "red", "bus", str(indexed))
    assert code == 2
    assert f'  try: seesay search "red bus" {indexed}' in err


def test_photos_in_the_place_of_folders_are_ranked_by_another_command(seesay: Call, indexed: Path) -> None:
    photos = sorted(indexed.glob("*.png"))[:2]
    code, _, err = seesay("search", "a red picture", *map(str, photos))
    assert code == 2
    assert f'  try: seesay identify "a red picture" {photos[0]} {photos[1]}' in err


def test_a_contact_sheet_among_the_photos_is_not_found_in_their_place(seesay: Call, indexed: Path) -> None:
    assert seesay("search", "a red picture", "-o", str(indexed / "sheet.png")).code == 0
    code, out, err = seesay("search", "a red picture")
    assert code == 0
    assert "sheet.png" not in out
    assert f"not usable: {indexed / 'sheet.png'}: a drawing that seesay made, and no photo" in err


def test_a_percentage_as_the_least_score_is_refused(seesay: Call, indexed: Path) -> None:
    code, _, err = seesay("search", "a red picture", "--min-score", "50")
    assert (code, err) == (2, "seesay: no photo scores 50\n  allowed: at most 1: 50 % is 0.5\n")


def test_while_another_process_indexes_what_is_there_is_searched(
    seesay: Call, indexed: Path, own_library: Path
) -> None:
    with SqliteStore(own_library).writing():
        code, out, err = seesay("search", "a red picture", indexed, "-n", 1)
    assert code == 0
    assert names(out) == ["red.png"]
    assert "is being written by another seesay" in err
    assert "searching what is there" in err


def test_a_folder_that_is_away_is_told_and_the_others_are_searched(seesay: Call, indexed: Path) -> None:
    away = indexed.with_name("away")
    indexed.rename(away)
    code, out, err = seesay("search", "a red picture", "-n", 1)
    assert code == 0
    assert names(out) == ["red.png"]
    assert f"the folder {indexed} does not exist" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is nothing to search for\n  try: seesay search"),
        (("a dog",), "the library has no photos yet\n  try: seesay search"),
        (("a dog", "absent"), "the folder absent does not exist"),
        (("a dog", ".", "--after", "yesterday"), "after is 'yesterday'\n  allowed: a date such as 2019"),
        (("a dog", "--no-index", "--sort", "size"), "cannot sort by 'size'\n  allowed: score, date"),
        (("", "--no-index"), "the query is empty"),
        ((" ", "."), "the query is empty\n  allowed: a sentence, or a photo to be like"),
        (("", ".", "--minus", "a dog"), "the query is empty: it only says what is not wanted"),
        (
            ("a dog", "--box", "0,0,1,1"),
            "a box is a crop of a photo, and there is none\n  try: --like PHOTO",
        ),
        (("--like", "red.png", "--box", "1,0", "--no-index"), "the box is '1,0'\n  allowed: left,top,right,bottom"),
        (("--like", "absent.jpg", "--no-index"), "cannot open absent.jpg: no such file"),
    ],
)
def test_wrong_calls(
    seesay: Call, photo_folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(photo_folder)
    code, out, err = seesay("search", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "added" not in err  # refused before anything is indexed


def test_a_warm_search_imports_neither_torch_nor_pictures(indexed: Path) -> None:
    program = (
        "import sys\n"
        "from seesay.cli.main import run\n"
        "try: run(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        "print([name for name in ('torch', 'PIL', 'spacy', 'rich.progress') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", program, "search", "a red picture", indexed, "-n", "1"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert finished.stdout.splitlines()[1:] == ["[]"], finished.stderr


def test_regions_are_refused_where_the_library_keeps_none(seesay: Call, indexed: Path) -> None:
    code, _, err = seesay("search", "a red picture", "--regions", "--no-index")
    assert code == 2
    assert "keeps photos as a whole and no regions" in err


def test_regions_are_of_one_thing_at_a_time(seesay: Call, indexed: Path) -> None:
    code, _, err = seesay("search", "red", "--regions", "--minus", "blue", "--plus", "green")
    assert code == 2
    assert "--regions looks for one thing, and --plus and --minus ask for more" in err
