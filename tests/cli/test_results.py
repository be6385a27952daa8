"""Results never take the place of what a person has: the same for every command that writes a file."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

WRITERS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "ground": lambda photo: ("ground", photo, "red", "-o"),
    "ground-sentence": lambda photo: ("ground", photo, "--sentence", "a red ball", "-o"),
    "describe": lambda photo: ("describe", photo, "-o"),
    "explain": lambda photo: ("explain", photo, "a red ball", "-o"),
    "identify": lambda photo: ("identify", "red", photo, "-o"),
    "neighbours": lambda photo: ("neighbours", photo, "--in", photo.parent, "-o"),
    "neighbours-in": lambda photo: ("neighbours", "other.png", "--in", photo.parent, "-o"),
    "regions": lambda photo: ("regions", "red", "--in", photo.parent, "-o"),
    "search": lambda photo: ("search", "red", photo.parent, "-o"),
    "search-like": lambda photo: ("search", "--like", photo, "-o"),
    "caption": lambda photo: ("caption", photo, "--coco"),
    "map": lambda photo: ("map", photo.parent, "-o"),
    "magnitudes": lambda photo: ("magnitudes", "-d", photo.parent, "-o"),
}


@pytest.fixture
def photo(tmp_path: Path, own_library: Path, colours: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    return Path(shutil.copy(colours / "images/red_5.png", tmp_path / "photos/red.png"))


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize("command", WRITERS)
def test_a_photo_that_is_read_is_never_written(
    seesay: Run, photo: Path, command: str, overwrite: tuple[str, ...]
) -> None:
    before = photo.read_bytes()
    finished = seesay(*WRITERS[command](photo), photo, *overwrite)
    assert (finished.code, finished.out) == (2, "")
    assert "is what this command reads" in finished.err
    assert photo.read_bytes() == before


@pytest.mark.parametrize("command", WRITERS)
def test_a_file_of_the_users_is_kept(seesay: Run, photo: Path, tmp_path: Path, command: str) -> None:
    other = Path(shutil.copy(photo, tmp_path / "mine.png"))
    finished = seesay(*WRITERS[command](photo), other)
    assert finished.code == 2
    assert "seesay has not made it" in finished.err


@pytest.mark.parametrize("command", WRITERS)
def test_an_empty_name_a_folder_and_a_pipe_are_refused_in_a_sentence(
    seesay: Run, photo: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    for name, why in (("", "no name for a file"), ("folder.png", "a folder"), ("pipe.png", "a pipe")):
        finished = seesay(*WRITERS[command](photo), name)
        assert finished.code == 2
        assert why in finished.err


def test_a_library_is_no_place_for_captions(seesay: Run, indexed: Path, own_library: Path) -> None:
    before = (own_library / "library.db").read_bytes()
    finished = seesay("caption", indexed / "red.png", "--coco", own_library / "library.db", "--overwrite")
    assert finished.code == 2
    assert "is the folder of a library" in finished.err
    assert (own_library / "library.db").read_bytes() == before


def test_a_photo_of_the_library_stays_even_where_overwriting_is_asked_for(
    seesay: Run, indexed: Path, tmp_path: Path, colours: Path
) -> None:
    other = Path(shutil.copy(colours / "images/blue_5.png", tmp_path / "other.png"))
    finished = seesay("ground", other, "blue", "-o", indexed / "red.png", "--overwrite")
    assert finished.code == 2
    assert "is a photo of the library" in finished.err


HOSTILE_NAME = "a\x1b]0;title\x07\r\nb.jpg"


@pytest.mark.parametrize(
    "command",
    [
        ("caption",), ("identify", "red"), ("ground", "PHOTO", "red"), ("describe",), ("explain", "PHOTO", "red"),
        ("match", "PHOTO", "red"), ("index",), ("search", "red"), ("search", "--like"), ("data", "check"),
        ("library", "forget"), ("neighbours", "PHOTO", "--in", "."), ("regions", "red", "--in"), ("train",),
        ("serve",), ("words", "-m"), ("evaluate", "vse", "-d"), ("export", "vse", "-o"), ("tune",),
    ],
)  # fmt: skip
def test_a_name_never_steers_the_terminal(
    seesay: Run, tmp_path: Path, own_library: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / HOSTILE_NAME).write_bytes(b"\xff\xd8\xff no photo")
    line = [HOSTILE_NAME if word == "PHOTO" else word for word in command]
    finished = seesay(*line, *(() if "PHOTO" in command else (HOSTILE_NAME,)))
    assert finished.code in (1, 2)
    for steering in ("\x1b", "\x07", "\r", "\nb.jpg"):
        assert steering not in finished.out + finished.err
