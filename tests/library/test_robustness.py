"""Whatever happens to the process that indexes, the library it was working on is whole."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.ranking.calibration import Calibration
from seesay.library.stores.sqlite import SqliteStore

Open = Callable[..., Library]
N_PHOTOS = 60


@pytest.fixture
def many(tmp_path: Path, toy: ModuleType) -> Path:
    """A folder of small photos, some of them copies, some broken."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(N_PHOTOS):
        toy.draw(folder / f"{number:02}.png", number % 50)
    for number in range(3):
        (folder / f"broken{number}.jpg").write_bytes(b"\xff\xd8\xff" + bytes(number))
    return folder


def everything(store: SqliteStore) -> dict[str, Any]:
    """What a library holds, without the ids, which depend on the order of events."""
    rows = store._database.rows
    return {
        "photos": sorted(
            rows(
                "SELECT path, size, mtime_ns, date, digest, width, height, taken, camera, vector, jpeg FROM photos p "
                "JOIN contents c ON c.id = p.content JOIN vectors v ON v.content = c.id "
                "JOIN thumbnails t ON t.content = c.id"
            )
        ),
        "contents": sorted(rows("SELECT digest FROM contents")),
        "tags": sorted(rows("SELECT digest, class, probability FROM tags JOIN contents ON id = content")),
        "failures": rows("SELECT * FROM failures ORDER BY path"),
        "integrity": rows("PRAGMA integrity_check") + rows("PRAGMA foreign_key_check"),
    }


def run_program(action: str, library: Path, folder: Path) -> dict[str, Any]:
    program = Path(__file__).with_name("toy.py")
    finished = subprocess.run(
        [sys.executable, program, action, library, folder], capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    report: dict[str, Any] = json.loads(finished.stdout)
    return report


@pytest.fixture
def uninterrupted(many: Path, tmp_path: Path, toy: ModuleType) -> dict[str, Any]:
    with Library(tmp_path / "uninterrupted", encoder=toy.ColourEncoder()) as library:
        library.index(many)
        assert isinstance(library.store, SqliteStore)
        return everything(library.store)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_twenty_moments_the_finished_library_equals_an_uninterrupted_one(
    many: Path, tmp_path: Path, toy: ModuleType, uninterrupted: dict[str, Any]
) -> None:
    place = tmp_path / "killed"
    report = run_program("kill", place, many)
    assert len(report["signals"]) == 20
    assert set(report["signals"]) <= {0, signal.SIGKILL}
    assert any(0 < count < N_PHOTOS for count in report["counts"])
    assert report["counts"] == sorted(report["counts"])  # nothing that was written is lost
    with Library(place, encoder=toy.ColourEncoder()) as library:
        n_before = library.store.counts().contents
        library.index(many)
        assert library.encoder.n_encoded == 50 - n_before  # type: ignore[attr-defined]
        assert isinstance(library.store, SqliteStore)
        assert everything(library.store) == uninterrupted
        assert len(library.search("red", top=99)) > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_indexers_that_do_not_see_each_others_lock_corrupt_nothing(
    many: Path, tmp_path: Path, toy: ModuleType, uninterrupted: dict[str, Any]
) -> None:
    place = tmp_path / "twice"
    assert run_program("twice", place, many)["statuses"] == [0]
    with Library(place, encoder=toy.ColourEncoder()) as library:
        assert isinstance(library.store, SqliteStore)
        assert everything(library.store) == uninterrupted


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_disk_that_fills_up_stops_safely_and_the_same_call_goes_on(
    many: Path, open_library: Open, uninterrupted: dict[str, Any]
) -> None:
    library = open_library()
    assert isinstance(library.store, SqliteStore)
    connection = library.store._database._connection()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 12}")  # to SQLite that is a full disk
    with pytest.raises(SeesayError, match="the disk is full"):
        library.index(many, workers=2)
    n_kept = library.store.counts().photos
    assert 0 < n_kept < N_PHOTOS
    assert len(library.search("red", top=99)) > 0
    connection.execute("PRAGMA max_page_count = 1000000")
    library.index(many)
    assert everything(library.store) == uninterrupted


def test_a_search_while_another_process_indexes_sees_whole_batches(many: Path, open_library: Open) -> None:
    reader, writer = open_library(), open_library()
    seen: list[int] = []

    def look(done: int, total: int) -> None:
        results = reader.search("red", top=99)
        shown = [photo for result in results for photo in (result.photo, *result.copies)]
        seen.append(len(shown))
        assert len({photo.id for photo in shown}) == len(shown)
        assert all(reader.thumbnail(photo.id) for photo in shown[:3])

    writer.index(many, workers=1, on_progress=look)
    assert seen == sorted(seen)
    assert seen[0] == 0
    assert seen[-1] == N_PHOTOS


BROKEN = {
    "empty.jpg": b"",
    "text.jpg": b"hello, I am a text",
    "pdf.png": b"%PDF-1.7\n",
    "head of a png.png": b"\x89PNG\r\n\x1a\n",
    "head of a gif.gif": b"GIF89a",
    "head of a bmp.bmp": b"BM",
    "head of a tiff.tif": b"II*\0",
    "head of a webp.webp": b"RIFF\0\0\0\0WEBP",
    "head of an avif.avif": b"\0\0\0\x14ftypavif\0\0\0\0avif",
    "head of a heic.heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic",
    "zeros.jpg": bytes(5000),
    "svg.png": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "eps.tif": b"%!PS-Adobe-3.0 EPSF-3.0\n",
}


def test_every_kind_of_broken_file_is_a_failure_and_disturbs_no_other(open_library: Open, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, content in BROKEN.items():
        (folder / name).write_bytes(content)
    whole = folder / "whole.jpg"
    Image.new("RGB", (90, 70), "red").save(whole)
    for share in (0.3, 0.9):
        (folder / f"cut {share}.jpg").write_bytes(whole.read_bytes()[: int(share * whole.stat().st_size)])
    library = open_library()
    done = library.index(folder, workers=2)
    assert done.n_added == 1
    assert {failure.path.name for failure in done.failures} == {*BROKEN, "cut 0.3.jpg", "cut 0.9.jpg"}
    assert all(failure.reason for failure in done.failures)
    assert [photo.path.name for photo in library.latest()] == ["whole.jpg"]


ODD = [
    b"100%_a.png",
    b"new\nline.png",
    b"caf\xe9.png",
    b"-rf.png",
    b" .png",
    "日本.png".encode(),
    b"'; DROP TABLE photos;.png",
]


def test_odd_names_are_indexed_found_and_forgotten(open_library: Open, tmp_path: Path, toy: ModuleType) -> None:
    folder = tmp_path / "100%_a [1]*"
    folder.mkdir()
    for number, name in enumerate(ODD):
        toy.draw(folder / "a.png", number).rename(folder / os.fsdecode(name))
    library = open_library()
    assert library.index(folder).n_added == len(ODD)
    found = library.search("red", top=99, folders=[folder])
    paths = [photo.path for result in found for photo in (result.photo, *result.copies)]
    assert {os.fsencode(path.name) for path in paths} == set(ODD)
    assert all(path.is_file() for path in paths)
    assert library.index(tmp_path).n_encoded == 0
    assert library.forget(folder) == len(ODD)
    assert library.index(tmp_path).n_added == 0


def test_a_folder_that_may_only_be_read_is_indexed(
    many: Path, open_library: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so file modes alone do not stage this: every opening for writing is watched."""
    real = os.open
    inside = os.fsencode(many)

    def watch(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        written = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        assert not (written and os.fsencode(path).startswith(inside)), path
        return real(path, flags, *rest, **options)

    many.chmod(0o555)
    monkeypatch.setattr(os, "open", watch)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in many.iterdir())
    assert open_library().index(many).n_added == N_PHOTOS
    assert sorted((path.name, path.stat().st_mtime_ns) for path in many.iterdir()) == before
    many.chmod(0o755)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, toy: ModuleType) -> Library:
    """A library that is asked a great many things."""
    place = tmp_path_factory.mktemp("asked")
    (place / "photos").mkdir()
    for number in range(9):
        toy.draw(place / "photos" / f"{number}.png", number)
    library = Library(place / "library", encoder=toy.ColourEncoder(calibration=Calibration(9.0, 1.0, -4.0, -1.0)))
    library.index(place / "photos")
    return library


@settings(max_examples=60)
@given(
    query=st.text(max_size=60),
    plus=st.lists(st.text(max_size=9), max_size=2),
    minus=st.lists(st.text(max_size=9), max_size=2),
)
def test_any_text_is_a_query(asked: Library, query: str, plus: list[str], minus: list[str]) -> None:
    if not any(text.strip() for text in (query, *plus)):
        with pytest.raises(SeesayError, match="the query is empty"):
            asked.search(query, plus=plus, minus=minus)
        return
    results = asked.search(query, plus=plus, minus=minus)
    n_found = sum(1 + len(result.copies) for result in results)
    if n_found == 0:  # nothing but unknown words, or no word at all, finds nothing
        assert results.unknown_words or not any(letter.isalnum() for letter in "".join((query, *plus)))
    else:
        assert n_found == 9
    assert all(0 <= result.score <= 1 for result in results)
    assert np.isfinite([result.score for result in results]).all()
