"""A library's tables come to the present step by step, or not at all."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from seesay.errors import SeesayError
from seesay.library.stores import database, migrations
from seesay.library.stores.migrations import MIGRATIONS, migrate
from seesay.library.stores.sqlite import SqliteStore


@pytest.fixture
def connection() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_every_older_format_reaches_the_present(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sqlite3.connect(":memory:", isolation_level=None)
    migrate(whole, "library")
    for n_steps in range(len(MIGRATIONS)):
        connection = sqlite3.connect(":memory:", isolation_level=None)
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "MIGRATIONS", MIGRATIONS[:n_steps])
            migrate(connection, "library")
        migrate(connection, "library")
        assert (
            connection.execute("SELECT * FROM sqlite_schema").fetchall()
            == whole.execute("SELECT * FROM sqlite_schema").fetchall()
        )


def test_regions_become_views(connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", MIGRATIONS[:2])
        migrate(connection, "library")
    connection.execute("INSERT INTO contents (id, digest, width, height) VALUES (7, 'x', 4, 3)")
    connection.execute("INSERT INTO regions VALUES (7, x'00ff')")
    migrate(connection, "library")
    assert connection.execute("SELECT * FROM views").fetchall() == [(7, "regions", b"\x00\xff")]
    connection.execute("DELETE FROM contents")
    assert connection.execute("SELECT count(*) FROM views").fetchone() == (0,)


def test_only_the_missing_steps_are_taken(connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(connection, "library")
    connection.execute("INSERT INTO about VALUES ('epoch', 'kept')")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE faces (id INTEGER)"))
    migrate(connection, "library")
    assert "faces" in tables(connection)
    assert connection.execute("SELECT value FROM about").fetchall() == [("kept",)]


def test_a_step_that_fails_leaves_the_library_as_it_was(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection, "library")
    before = tables(connection)
    monkeypatch.setattr(
        migrations, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE faces (id INTEGER)", "CREATE TABLE photos (x)")
    )
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, "library")
    assert tables(connection) == before
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_a_full_disk_in_the_middle_of_a_step_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = sqlite3.connect(tmp_path / "library.db", isolation_level=None)
    migrate(connection, "library")
    before = tables(connection)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")  # to SQLite that is a full disk
    large = "CREATE TABLE faces (x); INSERT INTO faces VALUES (zeroblob(1000000))"
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, large))
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        migrate(connection, "library")
    assert tables(connection) == before


def test_two_who_make_a_library_at_once_make_one(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "library.db", isolation_level=None, timeout=0)

    class Interrupted(sqlite3.Connection):
        """Lets the other have a try after the first look at what is there."""

        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql == "SELECT count(*) FROM sqlite_schema":
                with suppress(sqlite3.OperationalError):
                    migrate(other, "library")
            return super().execute(sql, *parameters)

    connection = sqlite3.connect(tmp_path / "library.db", isolation_level=None, timeout=0, factory=Interrupted)
    migrate(connection, "library")
    assert {"photos", "about"} <= tables(other)


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    SqliteStore(tmp_path).close()
    with sqlite3.connect(tmp_path / "library.db") as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(
        SeesayError, match=r"has format \d+, this seesay knows formats up to \d+\n  try: pip install -U seesay"
    ):
        SqliteStore(tmp_path)


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "library.db") as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(SeesayError, match="is a database of another program"):
        SqliteStore(tmp_path)
    with sqlite3.connect(tmp_path / "library.db") as connection:
        assert tables(connection) == {"bookmarks"}


HOSTILE = {
    "trigger": "CREATE TRIGGER gone AFTER INSERT ON photos BEGIN DELETE FROM contents; END",
    "view": "DROP TABLE photos; CREATE VIEW photos AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
    "SELECT i + 1 FROM n) SELECT i AS id FROM n",
    "table": "DROP TABLE thumbnails; CREATE TABLE thumbnails (content INTEGER PRIMARY KEY, "
    "jpeg BLOB AS (zeroblob(1000000000)))",
    "index": "CREATE INDEX slow ON photos (length(hex(zeroblob(size))))",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("may_write", [True, False])
def test_what_somebody_else_has_written_into_a_library_is_never_run(
    kind: str, may_write: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStore(tmp_path).close()
    with sqlite3.connect(tmp_path / "library.db") as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.executescript(HOSTILE[kind])
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    monkeypatch.setattr(database, "_may_write", lambda _: may_write)
    with pytest.raises(SeesayError, match=f"is damaged: its {kind} .* is not one that seesay makes"):
        SqliteStore(tmp_path)
    if may_write:
        assert database.recover(tmp_path) == tmp_path / "library.db.damaged"


def test_what_sqlite_keeps_for_itself_is_no_damage(tmp_path: Path) -> None:
    SqliteStore(tmp_path).close()
    with sqlite3.connect(tmp_path / "library.db") as connection:
        connection.execute("ANALYZE")
    SqliteStore(tmp_path).close()
