"""Command lines that ask for too much, or name what is no file: each is answered in a sentence, at once."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Run = Callable[..., Any]
HUGE = str(10**20)
LONG = "x" * 300


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """What hangs is ended: by an error of its own, which no command takes for an answer."""

    def complain(*_: object) -> None:
        raise AssertionError("it takes too long")

    before = signal.signal(signal.SIGALRM, complain)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def place(tmp_path: Path, own_library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a photo, and with things that are none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    Image.new("RGB", (40, 30), "red").save(tmp_path / "photo.png")
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    (tmp_path / "loop.png").symlink_to("loop.png")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


def refuse(seesay: Run, *arguments: object) -> str:
    ended = seesay(*arguments)
    assert ended.code == 2, ended
    assert ended.out == ""
    assert len(ended.err) < 5000
    return " ".join(ended.err.replace("│", " ").split())  # however typer breaks its lines


NUMBERS = {
    "n-best": ("caption", "photo.png", "--n-best"),
    "beam": ("caption", "photo.png", "--beam"),
    "length": ("caption", "photo.png", "--max-length"),
    "caption seed": ("caption", "photo.png", "--sample", "--seed"),
    "phrases": ("describe", "photo.png", "-m", "hmlstm", "--phrases"),
    "map seed": ("map", "data.csv", "--seed"),
    "size": ("features", "data.csv", "--size"),
    "threads": ("train", "recipe.toml", "--threads"),
    "top": ("search", "a dog", "--top"),
    "workers": ("index", "--workers"),
    "port": ("serve", "--port"),
}


@pytest.mark.parametrize("value", ["99999999999", HUGE, "-1"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_have_ranges(seesay: Run, place: Path, name: str, value: str) -> None:
    assert re.search(r"Input should be (less|greater) than or equal to", refuse(seesay, *NUMBERS[name], value))


OTHER_VALUES = {
    "a warm sample": (("caption", "photo.png", "--sample", "--temperature", "1e-40"), "temperature"),
    "a hot sample": (("caption", "photo.png", "--sample", "--temperature", "inf"), "temperature"),
    "a very hot sample": (("caption", "photo.png", "--sample", "--temperature", "1e308"), "temperature"),
    "a line of cells": (("ground", "photo.png", "a dog", "--regions", "grid-1x100000000"), "up to 10,000 cells"),
    "many cells": (("describe", "photo.png", "--regions", "grid-3000x3000"), "up to 10,000 cells"),
    "too many cells": (("ground", "photo.png", "a dog", "--regions", "grid-100000x100000"), "up to 10,000 cells"),
    "cells of another script": (("ground", "photo.png", "a dog", "--regions", "grid-٣x٣"), "scheme"),
    "windows": (("ground", "photo.png", "a dog", "--regions", "windows-" + "9" * 5000), "windows"),
    "a pause without end": (("serve", "--every", "inf"), "seconds between two looks"),
    "a pause of ages": (("serve", "--every", "1e308"), "seconds between two looks"),
    "no pause": (("serve", "--every", "1e-40"), "seconds between two looks"),
    "a captioner": (("serve", "--captioner", "nope"), "there are no weights 'nope'"),
    "a short token": (("serve", "--token", "x"), "token"),
    "a box": (("search", "--like", "photo.png", "--box", "0,0,1e-40,1e-40"), "the box is"),
    "a day": (("search", "dog", "--after", "2019-99-99"), "2019-99-99"),
    "a month": (("search", "dog", "--before", "2019-13"), "2019-13"),
    "a leap day": (("search", "dog", "--after", "2019-02-30"), "2019-02-30"),
    "a long word": (("ground", "photo.png", "x" * 100_000, "-o", "out.png"), "100,000 characters"),
    "a long name of weights": (("match", "photo.png", "a dog", "-m", LONG), "there are no weights"),
    "a long name of data": (("neighbours", "photo.png", "--in", LONG), "there is no"),
    "a long name of references": (("caption", "photo.png", "--references", LONG), "there is no"),
    "a folder that turns round": (("index", "loop"), "loop"),
    "a search that turns round": (("search", "dog", "loop"), "loop"),
    "forgetting what turns round": (("library", "forget", "loop"), "loop"),
    "photos of the whole machine": (("index", "/"), "whole machine"),
    "features of the whole machine": (("features", "/"), "holds no captioned collection"),
    "a pattern that is none": (("index", ".", "--exclude", "["), "no pattern"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_other_values_have_ranges_too(seesay: Run, place: Path, name: str) -> None:
    line, told = OTHER_VALUES[name]
    if line[0] == "features":
        pytest.importorskip("torch", reason="features are computed with the extra [train]")
    assert told in refuse(seesay, *line)


@pytest.mark.parametrize("name", ["pipe.png", "zero.png", "loop.png", "/dev/zero"])
@pytest.mark.parametrize(
    "line",
    [("caption",), ("identify", "red"), ("neighbours", "--in", "."), ("ground", "-s", "red"), ("explain",), ("match",),
     ("describe",)],
    ids=lambda line: line[0],
)  # fmt: skip
def test_what_is_no_file_is_no_photo(seesay: Run, place: Path, line: tuple[str, ...], name: str) -> None:
    more = {"explain": ["red"], "match": ["red"]}.get(line[0], [])
    ended = seesay(*line, name, *more)
    assert ended.code in (1, 2)
    assert any(why in ended.err for why in ("not a regular file", "too many levels of symbolic links", "symbolic"))


def test_patterns_take_no_more_time_than_files_do(seesay: Run, place: Path) -> None:
    (place / "photos").mkdir()
    Image.new("RGB", (8, 8)).save(place / "photos" / ("a" * 200 + ".png"))
    (place / "photos/.seesayignore").write_text("*a" * 30 + "b\n" + "**a" * 20 + "z\n" + "**/" * 5000 + "x\n")
    ended = seesay("index", "photos", "--exclude", "*a" * 40 + "b", "-m", "no-such-weights")
    assert "there are no weights" in ended.err
    from seesay.library.indexing.scan import scan
    from seesay.library.types import Folder

    assert len(scan(Folder((place / "photos").resolve(), ("*a" * 40 + "b",))).files) == 1


@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_weights_data_and_recipes_are_files(seesay: Run, place: Path, kind: str) -> None:
    def put(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("/dev/zero") if kind == "zero" else os.mkfifo(path)

    put(place / "w/config.json")
    put(place / "tokens/Flickr8k.token.txt")
    put(place / "split/dataset_flickr8k.json")
    put(place / "recipe.toml")
    put(place / "token")
    refuse(seesay, "match", "photo.png", "a dog", "-m", "w")
    refuse(seesay, "train", "recipe.toml")
    refuse(seesay, "serve", "--token-file", "token")
    for folder in ("tokens", "split"):
        ended = seesay("data", "check", folder)
        assert ended.code in (1, 2)


def test_a_weights_file_is_one(seesay: Run, place: Path, colours_run: Path) -> None:
    import shutil

    shutil.copytree(colours_run / "weights", place / "w")
    (place / "w/model.safetensors").unlink()
    os.mkfifo(place / "w/model.safetensors")
    assert "not a regular file" in refuse(seesay, "match", "photo.png", "a dog", "-m", "w")


RECIPES = {
    "deep": ("x = " + "[" * 100_000, ()),
    "a long key": ("", ("config." + "a." * 4000 + "b=1",)),
    "a seed": ("", (f"seed={HUGE}",)),
    "a width": ("", (f"config.dim={HUGE}",)),
    "a side": ("", (f"features.size={HUGE}",)),
    "a rate": ("", ("optimiser.rate=1e308",)),
    "epochs": ("", (f"stop.epochs={HUGE}",)),
    "word vectors": ("", (f"config.word_vectors={LONG}",)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_have_ranges(seesay: Run, place: Path, colours_recipe: dict[str, Any], name: str) -> None:
    from seesay.training.recipe import Recipe

    text, changes = RECIPES[name]
    (place / "recipe.toml").write_text(text or Recipe.from_dict(colours_recipe).to_toml())
    refuse(seesay, "train", "recipe.toml", "-o", place / "run", *(part for each in changes for part in ("--set", each)))


def test_a_deep_ensemble_is_refused(seesay: Run, place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine/config.json").write_text('{"a":' * 50_000)
    for line in (("match", "photo.png", "a dog", "--ensemble", "mine"), ("evaluate", "--ensemble", "mine")):
        refuse(seesay, *line)


@pytest.mark.parametrize("name", ["pipe.png", "zero.png", "loop.png", "/dev/zero"])
def test_photos_are_like_files_only(seesay: Run, place: Path, indexed: Path, model: tuple[str, str], name: str) -> None:
    told = refuse(seesay, "search", "--like", name, "--no-index")
    assert "not a regular file" in told or "symbolic" in told


def test_a_camera_of_any_bytes_is_a_camera(seesay: Run, indexed: Path, model: tuple[str, str]) -> None:
    assert seesay("search", "red", "--camera", "\udcff\udcfe").code == 1


def test_a_folder_that_is_called_like_an_address_opens_no_connection(
    seesay: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    def connect(self: object, address: object) -> None:
        raise AssertionError(f"a connection to {address}")

    for scheme in ("ftp", "http", "s3"):
        inner = place / f"{scheme}:/127.0.0.1:9/x"
        inner.mkdir(parents=True)
        Image.new("RGB", (40, 30), "blue").save(inner / "a.png")
    monkeypatch.setattr(socket.socket, "connect", connect)
    for name in (".", "ftp:/127.0.0.1:9/x", "http:/127.0.0.1:9/x", "s3:/127.0.0.1:9/x"):
        assert seesay("caption", name, "--beam", "1").code in (0, 1)
        assert seesay("index", name, "-m", "no-such-weights").code == 2
    assert seesay("identify", "blue", ".").code in (0, 1)


@pytest.mark.parametrize("line", [("models",), ("library", "status"), ("words", "dog"), ("--help",)])
def test_a_full_disk_or_a_closed_pipe_behind_the_output_ends_quietly(line: tuple[str, ...], place: Path) -> None:
    full = subprocess.run(
        f"{sys.executable} -m seesay {' '.join(line)} > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (full.returncode, "Traceback" in full.stderr, "Exception" in full.stderr) == (1, False, False)


def test_weights_that_cannot_be_searched_with_begin_no_library(seesay: Run, place: Path) -> None:
    ended = seesay("index", ".", "-m", "dvsa", "--library", place / "mine")
    assert (ended.code, "dvsa does not keep a photo as one vector" in ended.err) == (2, True)
    assert not (place / "mine").exists()


def test_the_status_of_no_library_makes_none(seesay: Run, place: Path) -> None:
    assert seesay("library", "status", "--library", place / "nowhere").code == 0
    assert not (place / "nowhere").exists()


def test_a_cache_that_may_only_be_read_stops_no_caption(
    seesay: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "readonly").mkdir()
    (place / "readonly/features").write_text("where a folder would have to be made")
    monkeypatch.setenv("SEESAY_CACHE", str(place / "readonly"))
    ended = seesay("caption", "photo.png", "--beam", "1")
    assert ended.code == 0
    assert ended.out


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_a_shell_has_closed_are_no_error(place: Path, closing: str) -> None:
    line = f"{sys.executable} -m seesay models {closing}"
    ended = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_terminal_of_another_alphabet_shows_what_it_can(place: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "seesay", "explain", "photo.png", "a café", "-m", "dvsa"],
        capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
    assert b"\\u2587" in ended.stdout  # a bar


def test_an_ensemble_opens_files_only(seesay: Run, place: Path) -> None:
    pytest.importorskip("spacy", reason="needs the extra [parse]")
    for name in ("pipe.png", "zero.png"):
        assert "not a regular file" in refuse(seesay, "match", name, "a dog", "--ensemble", "shipped")


def test_photos_to_learn_from_are_files(
    seesay: Run, place: Path, colours_recipe: dict[str, Any], colours: Path
) -> None:
    import shutil

    pytest.importorskip("torch", reason="needs the extra [train]")
    from seesay.training.recipe import Recipe

    shutil.copytree(colours, place / "colours")
    for number, target in enumerate(("pipe.png", "zero.png")):
        (place / f"colours/images/red_{number}.png").unlink()
        (place / f"colours/images/red_{number}.png").symlink_to(place / target)
    (place / "recipe.toml").write_text(Recipe.from_dict(colours_recipe).to_toml().replace(str(colours), "colours"))
    assert "not a regular file" in refuse(seesay, "train", "recipe.toml", "-o", "run")


def test_queries_from_a_stream_without_end_are_refused(place: Path) -> None:
    line = f"{sys.executable} -m seesay search - --no-index < /dev/zero"
    ended = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (ended.returncode, "too much came from stdin" in ended.stderr) == (2, True)


@pytest.mark.parametrize(
    "line",
    [("ground",), ("explain", "-m", "dvsa"), ("ground", "-m", "hmlstm"), ("identify",)],
    ids=["g", "e", "h", "i"],
)
def test_words_of_any_length_are_drawn(seesay: Run, place: Path, line: tuple[str, ...]) -> None:
    if "hmlstm" in line:
        pytest.importorskip("spacy", reason="needs the extra [parse]")
    words = f"red {'x' * 19_000}"
    photo_and_words = (words, "photo.png") if line[0] == "identify" else ("photo.png", words)
    ended = seesay(*line, *photo_and_words, "-o", "drawn.png")
    assert ended.code == 0, ended.err
    with Image.open(place / "drawn.png") as drawn:
        assert max(drawn.size) < 4000


def test_a_lock_that_is_no_file_is_named(seesay: Run, indexed: Path, own_library: Path) -> None:
    (own_library / "writer.lock").unlink(missing_ok=True)
    os.mkfifo(own_library / "writer.lock")
    assert "writer.lock is not a regular file" in refuse(seesay, "index", indexed)
    assert seesay("search", "red", "--no-index").code == 0


def test_what_reads_others_files_has_a_floor_without_known_flaws() -> None:
    import tomllib

    table = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[<>=\[]", each)[0]: each for each in table["dependencies"]}
    assert named["pillow"] == "pillow>=13"
    for name in ("onnxruntime", "safetensors", "tokenizers", "pathspec", "fastapi", "uvicorn"):
        assert re.search(r">=\d", named[name]), named[name]


@pytest.mark.parametrize("line", [("library", "status"), ("library", "failures"), ("library", "repair"), ("doctor",)])
def test_a_library_may_be_given_any_name(seesay: Run, place: Path, line: tuple[str, ...]) -> None:
    for name in (LONG, "\x1b]0;title\x07"):
        ended = seesay(*line, "--library", name)
        assert ended.code in (0, 1, 2)
        assert "\x1b" not in ended.out + ended.err
