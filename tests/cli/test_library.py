"""`seesay library status | failures | forget | rebuild`."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Call = Callable[..., Any]


def test_the_status_of_nothing(seesay: Call, own_library: Path) -> None:
    code, out, err = seesay("library", "status")
    assert code == 0
    assert out.splitlines() == [f"library   {own_library}", "photos    0 (0 different)", "unusable  0"]
    assert "no folder is indexed yet; try: seesay index ~/Pictures" in err
    assert not own_library.exists()


def test_the_status_of_a_library(seesay: Call, indexed: Path, model: tuple[str, ...]) -> None:
    code, out, err = seesay("library", "status")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[1] == "photos    4 (4 different)"
    assert lines[3].startswith(f"model     {model[1]} (efficientnet-lite0-64-squash-")
    assert lines[4] == f"folder    {indexed}: 4 photos"
    report = json.loads(seesay("library", "status", "--json").out)
    assert (report["photos"], report["contents"], report["failures"], report["agrees"]) == (4, 4, 0, True)
    assert report["folders"] == [
        {"folder": str(indexed), "exclude": [], "exists": True, "photos": 4, "contents": 4, "failures": 0}
    ]


def test_changed_weights_are_told_and_a_rebuild_mends_it(seesay: Call, indexed: Path, retrained: None) -> None:
    code, _, err = seesay("library", "status")
    assert code == 1
    assert "the weights have changed since; try: seesay library rebuild" in err
    code, _, err = seesay("search", "a red picture")
    assert code == 2
    assert "try: seesay library rebuild" in err
    code, out, _ = seesay("library", "rebuild")
    assert (code, out) == (0, f"{indexed}: 4 photos: 4 added\n")
    assert seesay("library", "status").code == 0
    assert "red.png" in seesay("search", "a red picture", "-n", 1).out


def test_failures_are_listed_with_their_reasons(seesay: Call, indexed: Path) -> None:
    (indexed / "2019" / "broken.jpg").write_bytes(b"")
    assert seesay("library", "failures") == (0, "", "")
    seesay("index", indexed)
    code, out, err = seesay("library", "failures")
    assert (code, out, err) == (0, f"{indexed}/2019/broken.jpg: it is empty (0 bytes)\n", "")
    report = json.loads(seesay("library", "failures", "--json").out)
    assert report == [{"path": f"{indexed}/2019/broken.jpg", "reason": "it is empty (0 bytes)", "hint": None}]
    assert seesay("library", "failures", indexed / "2019").out == out
    assert seesay("library", "failures", indexed.parent / "other").out == ""


def test_forgetting_a_folder(seesay: Call, indexed: Path) -> None:
    assert seesay("library", "forget", indexed)[:2] == (0, f"{indexed}: 4 photos forgotten\n")
    code, _, err = seesay("library", "forget", indexed)
    assert code == 2
    assert f"the library knows nothing of {indexed}" in err
    assert (indexed / "red.png").is_file()


def test_a_damaged_library_is_said_and_made_again(
    seesay: Call, indexed: Path, own_library: Path, model: tuple[str, ...]
) -> None:
    for path in own_library.glob("library.db*"):
        path.unlink()
    (own_library / "library.db").write_bytes(b"rubbish" * 999)
    code, _, err = seesay("search", "a red picture")
    assert code == 2
    assert "is damaged: its file is no database\n  try: seesay library rebuild FOLDER" in err
    code, out, err = seesay("library", "rebuild", indexed, *model)
    assert (code, out) == (0, f"{indexed}: 4 photos: 4 added\n")
    assert f"the damaged library is kept as {own_library / 'library.db.damaged'}" in err
    assert "red.png" in seesay("search", "a red picture", "-n", 1).out


@pytest.mark.parametrize("wrong", [("--model", "no-such-weights"), ("no-such-folder",)])
def test_a_rebuild_that_cannot_begin_leaves_a_damaged_library_where_it_is(
    seesay: Call, own_library: Path, wrong: tuple[str, ...]
) -> None:
    own_library.mkdir(exist_ok=True)
    (own_library / "library.db").write_bytes(b"rubbish" * 999)
    assert seesay("library", "rebuild", *wrong).code == 2
    assert [path.name for path in own_library.iterdir()] == ["library.db"]


def test_another_library_by_option(seesay: Call, indexed: Path, tmp_path: Path) -> None:
    assert (
        seesay("library", "status", "--library", tmp_path / "another").out.splitlines()[1]
        == "photos    0 (0 different)"
    )


def test_a_library_on_a_server_is_used_like_any_other(
    seesay: Call, photo_folder: Path, model: tuple[str, ...], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = postgres_url.replace("postgres:@", "postgres:s3cret@")
    monkeypatch.setenv("SEESAY_LIBRARY", secret)
    assert seesay("index", photo_folder, *model).out == f"{photo_folder}: 4 photos: 4 added\n"
    said = [
        seesay("search", "everything here is red", "--top", "1"),
        seesay("library", "status"),
        seesay("library", "rebuild"),
        seesay("library", "forget", photo_folder / "2019"),
        seesay("index", photo_folder, "--json"),
    ]
    assert [finished.code for finished in said] == [0] * 5
    assert "red.png" in said[0].out
    assert "library   postgresql://postgres@/postgres?host=" in said[1].out
    assert not any("s3cret" in text for finished in said for text in (finished.out, finished.err))


def test_a_password_on_the_command_line_is_refused_and_not_repeated(seesay: Call) -> None:
    code, out, err = seesay("library", "status", "--library", "postgresql://ada:s3cret@db/photos")
    assert (code, out) == (2, "")
    assert "can be read by everybody on this machine" in err
    assert "--library 'postgresql://ada@db/photos'" in err
    assert "s3cret" not in err


@pytest.mark.parametrize("address", ["postgresql://ada:s3cret@db:port/photos", "postgresql:ada:s3cret@db"])
def test_an_address_that_cannot_be_read_is_not_repeated(
    seesay: Call, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="needs the extra [postgres]")
    monkeypatch.setenv("SEESAY_LIBRARY", address)
    code, _, err = seesay("library", "status")
    assert code == 2
    assert "the address of the library cannot be read" in err
    assert "s3cret" not in err


def test_photos_of_a_bucket_are_told_by_their_addresses(
    seesay: Call, photo_folder: Path, model: tuple[str, ...], bucket: SimpleNamespace
) -> None:
    bucket.files.put(str(photo_folder), f"{bucket.url}/photos", recursive=True)
    code, out, _ = seesay("index", f"{bucket.url}/photos", *model, "--json")
    assert (code, json.loads(out)["folders"][0]["folder"]) == (0, f"{bucket.url}/photos")
    found = json.loads(seesay("search", "everything here is red", "--top", "1", "--json").out)
    assert found["results"][0]["path"] == f"{bucket.url}/photos/red.png"
    assert seesay("search", "everything here is red", "--top", "1").out.endswith(f"{bucket.url}/photos/red.png\n")
    status = seesay("library", "status").out
    assert f"folder    {bucket.url}/photos: 4 photos\n" in status
    assert seesay("library", "forget", f"{bucket.url}/photos").out == f"{bucket.url}/photos: 4 photos forgotten\n"
