"""The library's tables in SQLite, as numbered steps from nothing to the present.

A step that has been released is never changed: a change is another step. `PRAGMA user_version` counts those that a
file has had. All that are missing are taken in one transaction, so a killed process leaves the file as it was.
"""

import re
import sqlite3
from contextlib import closing
from functools import cache

from seesay.errors import SeesayError

APPLICATION_ID = 0x53454553  # "SEES": tells a library from any other SQLite file

MIGRATIONS = (
    """
    CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE folders (path BLOB PRIMARY KEY, exclude TEXT NOT NULL) WITHOUT ROWID;

    -- Vectors and thumbnails have tables of their own: what lists contents must not read past them.
    CREATE TABLE contents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        digest TEXT NOT NULL UNIQUE,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        taken TEXT,
        camera TEXT
    );
    CREATE TABLE vectors (
        content INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
        vector BLOB NOT NULL
    );
    CREATE TABLE thumbnails (
        content INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
        jpeg BLOB NOT NULL
    );
    CREATE TABLE tags (
        class INTEGER NOT NULL,
        content INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
        probability REAL NOT NULL,
        PRIMARY KEY (class, content)
    ) WITHOUT ROWID;
    CREATE INDEX tags_by_content ON tags (content);

    CREATE TABLE photos (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        path BLOB NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        date TEXT NOT NULL,
        content INTEGER NOT NULL REFERENCES contents (id)
    );
    CREATE INDEX photos_by_content ON photos (content);
    CREATE INDEX photos_by_date ON photos (date);
    CREATE TABLE failures (
        path BLOB PRIMARY KEY,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        reason TEXT NOT NULL,
        hint TEXT
    ) WITHOUT ROWID;
    """,
    """
    -- What a second model sees where: the vectors of a photo's regions, one after the other.
    CREATE TABLE regions (
        content INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
        vector BLOB NOT NULL
    );
    """,
    """
    -- What each of the later stages of search keeps of a photo: vectors, one after the other.
    CREATE TABLE views (
        content INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
        stage TEXT NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (content, stage)
    );
    INSERT INTO views SELECT content, 'regions', vector FROM regions;
    DROP TABLE regions;
    """,
    """
    -- Tells what a disk has changed: over all that is kept of a content.
    CREATE TABLE checks (
        content INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
        crc INTEGER NOT NULL
    );
    """,
)


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Bring a library's tables to the present; one that is there already is not touched.

    Args:
        connection: In autocommit mode.
        name: What error messages call the library.

    Raises:
        SeesayError: The file belongs to another program, or to a later seesay.

    Example:
        >>> connection = sqlite3.connect(":memory:", isolation_level=None)
        >>> migrate(connection, "a library")
        >>> connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        True
    """
    version = check_schema(connection, name)
    if version == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have done the work while this one waited for its turn.
        for step in MIGRATIONS[_version(connection, name) :]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()  # which a full disk may have done already
        raise


def check_schema(connection: sqlite3.Connection, name: str) -> int:
    """How many steps a library has had; whatever stands in its file, nothing but that has been done to it.

    A view or a trigger, a computed column or an index on an expression would run what somebody else has written, as
    soon as a row is read.

    Raises:
        SeesayError: The file belongs to another program or to a later seesay, or has something that no step makes.
    """
    connection.execute("BEGIN")  # what is read is of one moment, whoever else is making the same library
    try:
        version = _version(connection, name)
        known = _schema_after(MIGRATIONS[:version])
        for kind, label, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema"):
            is_internal = kind in ("table", "index") and str(label).startswith("sqlite_")
            if (kind, label, _plain(sql)) not in known and not is_internal:
                raise SeesayError(
                    f"the library {name} is damaged: its {kind} {str(label)[:80]!r} is not one that seesay makes",
                    hint="seesay library rebuild FOLDER",
                )
    finally:
        connection.rollback()
    return version


@cache
def _schema_after(steps: tuple[str, ...]) -> frozenset[tuple[str, str, str]]:
    """Kind, name and definition of all that some steps make."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in steps:
            connection.executescript(step)
        rows = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    return frozenset((kind, name, _plain(sql)) for kind, name, sql in rows)


def _plain(sql: object) -> str:
    """A definition without comments, and with one space for any."""
    return " ".join(re.sub(r"--[^\n]*", "", str(sql or "")).split())


def _version(connection: sqlite3.Connection, name: str) -> int:
    """How many steps a library has had."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and (version or n_tables):
        raise SeesayError(f"{name} is a database of another program", hint="choose another place by SEESAY_LIBRARY")
    if version > len(MIGRATIONS):
        raise SeesayError(
            f"{name} has format {version}, this seesay knows formats up to {len(MIGRATIONS)}",
            hint="pip install -U seesay",
        )
    return int(version)
