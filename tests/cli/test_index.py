"""`seesay index`: what it says and how it ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


def test_a_folder_is_indexed_once(seesay: Call, photo_folder: Path, model: tuple[str, ...]) -> None:
    code, out, err = seesay("index", photo_folder, *model)
    assert (code, err) == (0, "")
    assert out == f"{photo_folder}: 4 photos: 4 added\n"
    code, out, _ = seesay("index", photo_folder)
    assert (code, out) == (0, f"{photo_folder}: 4 photos, nothing changed\n")


def test_without_folders_those_that_are_known_are_brought_up_to_date(seesay: Call, indexed: Path) -> None:
    (indexed / "red.png").unlink()
    code, out, _ = seesay("index")
    assert (code, out) == (0, f"{indexed}: 3 photos: 1 removed\n")


def test_unusable_files_are_named_with_the_reason_and_the_code_is_1(
    seesay: Call, photo_folder: Path, model: tuple[str, ...]
) -> None:
    for number in range(7):
        (photo_folder / f"broken{number}.jpg").write_bytes(bytes(number))
    code, out, err = seesay("index", photo_folder, *model)
    assert code == 1
    assert out == f"{photo_folder}: 11 photos: 4 added, 7 not usable\n"
    assert f"not usable: {photo_folder / 'broken0.jpg'}: it is empty (0 bytes)" in err
    assert "and 2 more: seesay library failures" in err
    assert seesay("index", photo_folder)[:2] == (0, f"{photo_folder}: 11 photos, nothing changed\n")
    assert seesay("index", photo_folder, "--retry").code == 1


def test_what_is_left_out_is_remembered(seesay: Call, photo_folder: Path, model: tuple[str, ...]) -> None:
    code, out, _ = seesay("index", photo_folder, "--exclude", "red*", "--exclude", "blue*", *model)
    assert (code, out) == (0, f"{photo_folder}: 2 photos: 2 added\n")
    assert seesay("index").out == f"{photo_folder}: 2 photos, nothing changed\n"


def test_json(seesay: Call, photo_folder: Path, model: tuple[str, ...], own_library: Path) -> None:
    (photo_folder / "broken.jpg").write_bytes(b"")
    code, out, err = seesay("index", photo_folder, "--json", *model)
    assert (code, err) == (1, "")
    assert json.loads(out) == {
        "library": str(own_library),
        "folders": [
            {
                "folder": str(photo_folder),
                "photos": 5,
                "added": 4,
                "changed": 0,
                "removed": 0,
                "encoded": 4,
                "failures": [{"path": str(photo_folder / "broken.jpg"), "reason": "it is empty (0 bytes)"}],
                "unreadable": {},
            }
        ],
    }


def test_hints_are_told_once(
    seesay: Call, photo_folder: Path, model: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pillow_heif", None)
    for number in range(3):
        (photo_folder / f"{number}.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(number))
    code, _, err = seesay("index", photo_folder, *model)
    assert code == 1
    assert err.count("HEIC needs pip install") == 3
    assert err.count("try for 3 of them: pip install 'seesay[heic]'") == 1


def test_an_interruption_keeps_what_was_finished_and_says_how_to_go_on(
    seesay: Call, photo_folder: Path, model: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from seesay.library.stores.sqlite import SqliteStore

    write = SqliteStore.write

    def interrupted(store: SqliteStore, batch: Any) -> Any:
        write(store, batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(SqliteStore, "write", interrupted)
    code, out, err = seesay("index", photo_folder, *model)
    assert (code, out) == (130, "")
    assert "what was finished is kept, the same command goes on from there" in err
    monkeypatch.setattr(SqliteStore, "write", write)
    assert seesay("index", photo_folder).out == f"{photo_folder}: 4 photos, nothing changed\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the library has no folders yet\n  try: seesay index ~/Pictures"),
        (("absent",), "the folder absent does not exist"),
        ((".", "--exclude", "!"), "'!' is no pattern"),
        ((".", "-m", "vsee"), "there are no weights 'vsee'"),
    ],
)
def test_wrong_calls(
    seesay: Call, photo_folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(photo_folder)
    code, out, err = seesay("index", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_other_weights_than_the_librarys_are_refused(seesay: Call, indexed: Path) -> None:
    code, _, err = seesay("index", indexed, "-m", "vse")
    assert code == 2
    assert "try: seesay library rebuild --model vse" in err
