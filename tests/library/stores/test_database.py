"""The library's file: errors that say what to do, and threads that do not disturb each other."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.library.stores.database import Database, set_aside
from seesay.library.stores.matrix import delete_matrix
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Counts, Filter

Put = Callable[..., None]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """SQLite alone is meant here."""
    return tmp_path / "library"


def test_a_full_disk_is_said_and_costs_only_the_batch(store: SqliteStore, put: Put) -> None:
    put({"/a.jpg": [1, 0, 0]})
    connection = store._database._connection()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")  # to SQLite that is a full disk
    with pytest.raises(SeesayError, match=r"the disk is full\n  try: make room; the same command goes on where it was"):
        put({"/b.jpg": [0, 1, 0]}, thumbnail=b"x" * 100_000)
    assert store.counts() == Counts(1, 1, 0)
    connection.execute("PRAGMA max_page_count = 100000")
    put({"/b.jpg": [0, 1, 0]}, thumbnail=b"x" * 100_000)
    assert store.counts() == Counts(2, 2, 0)


def test_a_library_that_may_only_be_read_says_so(store: SqliteStore, put: Put) -> None:
    put({"/a.jpg": [1, 0, 0]})
    store._database._connection().execute("PRAGMA query_only = ON")
    with pytest.raises(SeesayError, match=r"may only be read\n  try: choose another place by SEESAY_LIBRARY"):
        put({"/b.jpg": [0, 1, 0]})
    assert len(store.latest(5, Filter())) == 1


def test_a_damaged_file_is_said_with_the_command_that_helps(tmp_path: Path) -> None:
    (tmp_path / "library.db").write_bytes(b"not a database, however long it may be" * 50)
    with pytest.raises(SeesayError, match=r"is damaged: its file is no database\n  try: seesay library rebuild FOLDER"):
        SqliteStore(tmp_path)
    assert set_aside(tmp_path) == tmp_path / "library.db.damaged"
    assert SqliteStore(tmp_path).counts() == Counts(0, 0, 0)


def test_nothing_is_set_aside_where_nothing_is(tmp_path: Path) -> None:
    assert set_aside(tmp_path) is None


@pytest.mark.parametrize("name", ["matrix.json", "writer.lock", "writer.pid"])
def test_a_library_is_not_begun_where_it_would_replace_a_file_of_the_users(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("my own")
    with pytest.raises(SeesayError, match=rf"cannot begin .*: {name} is there, and is none of a library's"):
        SqliteStore(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["my own"]


def test_a_library_that_was_deleted_is_begun_again_among_its_other_files(tmp_path: Path) -> None:
    with SqliteStore(tmp_path).writing():
        (tmp_path / "matrix.json").write_text('{"epoch": "1", "ids": "matrix-0123456789ab.ids.npy"}')
    (tmp_path / "library.db").unlink()
    assert SqliteStore(tmp_path).counts() == Counts(0, 0, 0)


def test_arrays_of_the_users_stay_beside_a_library(tmp_path: Path) -> None:
    (tmp_path / "matrix-1.npy").write_bytes(b"my own")
    delete_matrix(tmp_path)
    assert (tmp_path / "matrix-1.npy").read_bytes() == b"my own"


def test_a_place_where_no_library_can_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SeesayError, match=r"cannot keep a library in .*file/library'?: Not a directory"):
        SqliteStore(tmp_path / "file" / "library")
    (tmp_path / "library.db").mkdir()
    with pytest.raises(SeesayError, match="cannot be opened"):
        SqliteStore(tmp_path)


def test_a_writer_that_waits_too_long_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.library.stores.database._PATIENCE", 0.0)
    first, second = Database(tmp_path), Database(tmp_path)
    with first.transaction():
        with pytest.raises(SeesayError, match="has been busy"), second.transaction():
            pass
        assert second.rows("SELECT count(*) FROM photos") == [(0,)]  # readers do not wait


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path)

    def interrupted() -> None:
        with database.transaction() as connection:
            connection.execute("INSERT INTO about VALUES ('a', 'b')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert database.rows("SELECT * FROM about") == []
    with pytest.raises(SeesayError, match="UNIQUE"), database.transaction() as connection:
        connection.executemany("INSERT INTO about VALUES (?, 'b')", [("a",), ("a",)])
    assert database.rows("SELECT * FROM about") == []


def test_threads_write_and_read_at_once(store: SqliteStore, put: Put) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: put({f"/{number}.jpg": [1, 0, 0]}), range(20)))
        assert list(pool.map(lambda _: store.counts(), range(4))) == [Counts(20, 20, 0)] * 4
    store.close()
    assert store.counts() == Counts(20, 20, 0)  # opened again by itself


def test_what_was_committed_is_there_for_others_at_once(store: SqliteStore, put: Put) -> None:
    reader = SqliteStore(store.folder)
    assert reader.counts() == Counts(0, 0, 0)
    put({"/a.jpg": [1, 0, 0]})
    assert reader.counts() == Counts(1, 1, 0)


def test_the_file_keeps_its_journal_beside_it(store: SqliteStore) -> None:
    with sqlite3.connect(store.folder / "library.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_only_its_owner_may_look_into_a_library(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "library")
    assert (tmp_path / "library").stat().st_mode & 0o077 == 0
