"""Repairing a library in a folder: damaged rows are removed and made again, the others stay."""

import json
import sqlite3
from pathlib import Path

from seesay.errors import SeesayError
from seesay.library.stores.checks import changed_contents
from seesay.library.stores.database import Database
from seesay.library.stores.sql import date_of
from seesay.library.types import File, Fingerprint

_BAD_PHOTOS = (
    "typeof(path) != 'blob' OR typeof(size) != 'integer' OR typeof(mtime_ns) != 'integer' OR typeof(date) != 'text' "
    "OR content NOT IN (SELECT id FROM contents)"
)
_BAD_FAILURES = "typeof(path) != 'blob' OR typeof(reason) != 'text' OR typeof(mtime_ns) != 'integer'"
_BAD_TAGS = "typeof(probability) NOT IN ('real', 'integer') OR probability < 0 OR probability > 1 OR class < 0"


def repair_rows(folder: Path) -> dict[str, int]:
    """Remove the rows of a library that cannot be right, in one transaction. The caller holds the right to write.

    A folder whose patterns are damaged is forgotten with its photos: without them it would show what was left out.

    Returns:
        How many rows of each kind were removed.

    Raises:
        SeesayError: The file itself is damaged (`seesay library rebuild`).
    """
    database = Database(folder)
    try:
        with database.transaction() as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")  # damaged text has to be looked at too
            return _repair(connection)
    finally:
        database.close()


def _repair(connection: sqlite3.Connection) -> dict[str, int]:
    ((verdict,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if verdict != "ok":
        raise SeesayError("the file of the library is damaged", hint="seesay library rebuild FOLDER")
    dims = _dims(connection)
    removed = {"folders": _forget_bad_folders(connection)}
    if "fingerprint" not in dims:  # nothing says what the vectors are: all of them are made again
        removed["contents"] = connection.execute("DELETE FROM photos").rowcount
        connection.execute("DELETE FROM contents")
        connection.execute("DELETE FROM about")
        return removed
    removed["failures"] = connection.execute(f"DELETE FROM failures WHERE {_BAD_FAILURES}").rowcount
    connection.execute(
        "DELETE FROM failures"
    )  # nothing tells whether the others are whole, and they are soon tried again
    bad = (
        "SELECT c.id FROM contents c LEFT JOIN vectors v ON v.content = c.id "
        "LEFT JOIN thumbnails t ON t.content = c.id "
        f"WHERE v.vector IS NULL OR typeof(v.vector) != 'blob' OR length(v.vector) != {2 * dims['fingerprint']} "
        "OR t.jpeg IS NULL OR typeof(t.jpeg) != 'blob' OR length(t.jpeg) = 0 OR typeof(c.width) != 'integer' "
        "OR typeof(c.height) != 'integer' OR typeof(c.digest) != 'text' "
        f"OR EXISTS (SELECT 1 FROM tags WHERE content = c.id AND ({_BAD_TAGS})) "
        "OR EXISTS (SELECT 1 FROM views WHERE content = c.id AND typeof(vector) != 'blob')"
    )
    wrong = {number for (number,) in connection.execute(bad).fetchall()} | set(changed_contents(connection))
    for stage, dim in dims.items():  # of so many vectors, one after the other
        cut = "SELECT content FROM views WHERE stage = ? AND length(vector) % ? != 0"
        wrong |= {number for (number,) in connection.execute(cut, (stage, 2 * dim)).fetchall()}
    numbers = [(number,) for number in sorted(wrong)]
    connection.executemany("DELETE FROM photos WHERE content = ?", numbers)
    connection.executemany("DELETE FROM contents WHERE id = ?", numbers)
    removed["contents"] = len(numbers)
    removed["photos"] = connection.execute(f"DELETE FROM photos WHERE {_BAD_PHOTOS}").rowcount
    removed["photos"] += _forget_wrong_dates(connection)
    return removed


def _forget_wrong_dates(connection: sqlite3.Connection) -> int:
    """Forget photos whose date is not the one that their file and what it says about itself give."""
    rows = connection.execute(
        "SELECT p.id, p.path, p.size, p.mtime_ns, p.date, c.taken FROM photos p JOIN contents c ON c.id = p.content"
    ).fetchall()
    wrong = [
        (number,) for number, path, size, mtime, date, taken in rows if date_of(File(path, size, mtime), taken) != date
    ]
    connection.executemany("DELETE FROM photos WHERE id = ?", wrong)
    return len(wrong)


def _dims(connection: sqlite3.Connection) -> dict[str, int]:
    """Numbers of a vector, of search and of its later stages, as the library says; empty where one cannot be read."""
    found = connection.execute("SELECT key, value FROM about").fetchall()
    try:
        return {key: Fingerprint.from_json(value).dim for key, value in found if key not in ("epoch", "format")}
    except (TypeError, ValueError):
        return {}


def _forget_bad_folders(connection: sqlite3.Connection) -> int:
    n_bad = 0
    for path, exclude in connection.execute("SELECT path, exclude FROM folders").fetchall():
        try:
            patterns = json.loads(exclude)
            whole = isinstance(path, bytes) and isinstance(patterns, list)
            whole = whole and all(isinstance(pattern, str) for pattern in patterns)
        except (TypeError, ValueError, RecursionError):
            whole = False
        if not whole:
            n_bad += 1
            connection.execute("DELETE FROM folders WHERE path = ?", (path,))
            if isinstance(path, bytes):
                below = path.rstrip(b"/") + b"/"
                for table in ("photos", "failures"):
                    connection.execute(f"DELETE FROM {table} WHERE path >= ? AND path < ?", (below, below[:-1] + b"0"))
    return n_bad
