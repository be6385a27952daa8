"""What libraries and caches keep, as it is fuzzed: the rows of a library, its matrix of vectors, and kept features."""

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.reliability import corpora
from seesay.errors import SeesayError


def rows(content: bytes, folder: Path) -> object:
    """Bytes in place of one value of a library, whose first byte says of which; then the library is repaired."""
    from seesay.library.stores.repair import repair_rows
    from seesay.library.stores.sqlite import SqliteStore

    place, empty = folder / "library", folder / "empty"
    if not empty.exists():
        SqliteStore(empty).close()
    place.mkdir(exist_ok=True)
    for left in place.iterdir():
        left.unlink()
    shutil.copyfile(empty / "library.db", place / "library.db")
    values: list[object] = list(corpora.VALUES)
    at, given = content[0] % (2 * len(values)) if content else 0, content[1:]
    # As text or as bytes: SQLite keeps either in any column.
    values[at // 2] = given if at % 2 else given.decode("utf-8", "replace")
    with sqlite3.connect(place / "library.db") as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for statement, wanted in _STATEMENTS:
            connection.execute(statement, [values[number] for number in wanted])
    connection.close()
    # A search writes the matrix of all vectors, which takes longer than all else.
    searches = at // 2 in (0, 9)
    _ask_all(place, searches, excusing=(SeesayError,))
    with suppress(SeesayError):
        repair_rows(place)
    try:
        _ask_all(place, searches)
    except SeesayError as error:
        raise RuntimeError(f"a library that was repaired says: {error}") from error
    return None


def _ask_all(place: Path, searches: bool, *, excusing: tuple[type[Exception], ...] = ()) -> None:
    """Ask a library for everything that it holds."""
    from seesay.library.stores.sqlite import SqliteStore
    from seesay.library.types import Filter

    store = SqliteStore(place)
    try:
        for ask in (
            store.fingerprint, store.stages, store.folders, store.counts, store.failures,
            lambda: searches and store.nearest(np.ones(4, np.float32), 3, Filter()),
            lambda: store.views("regions", [1]), lambda: store.latest(9, Filter()), lambda: store.photo(1),
            lambda: store.thumbnail(1), lambda: store.tags([1]), lambda: store.vectors([1]),
            lambda: store.files(Path("/")),
        ):  # fmt: skip
            with suppress(*excusing):
                ask()
    finally:
        store.close()


_STATEMENTS = (
    ("INSERT INTO about VALUES ('fingerprint', ?)", (0,)),
    ("INSERT INTO about VALUES ('regions', ?)", (1,)),
    ("INSERT INTO folders VALUES (?, ?)", (2, 3)),
    ("INSERT INTO contents VALUES (1, ?, ?, ?, ?, ?)", (4, 5, 6, 7, 8)),
    ("INSERT INTO vectors VALUES (1, ?)", (9,)),
    ("INSERT INTO views VALUES (1, 'regions', ?)", (10,)),
    ("INSERT INTO thumbnails VALUES (1, ?)", (11,)),
    ("INSERT INTO tags VALUES (1, ?, ?)", (12, 13)),
    ("INSERT INTO photos VALUES (1, ?, ?, ?, ?, 1)", (14, 15, 16, 17)),
    ("INSERT INTO failures VALUES (?, ?, ?, ?, NULL)", (18, 15, 16, 19)),
)
"""A library with a photo and a failure; numbers are places in `corpora.VALUES`."""


def matrix(content: bytes, folder: Path) -> object:
    """The files of a library's matrix; a damaged one counts as absent, so one that is read has to give answers."""
    from seesay.library.stores.matrix import read_matrix

    about, *files = content.split(corpora.BETWEEN, 5)
    (folder / "matrix.json").write_bytes(about)
    kinds = ("ids", "rows") if len(files) == 2 else ("ids", "codes", "sums", "scheme")
    for name, file in zip(kinds, files, strict=False):
        (folder / name).write_bytes(file)
    found = read_matrix(folder, "epoch")
    if found is None:
        raise SeesayError("it counts as absent")
    return found.cosines(np.ones(found.dim, np.float32)), found.last_id


def features(content: bytes, folder: Path) -> object:
    """A shard of kept features; a damaged one counts as absent."""
    from seesay.images.store import RowStore

    index, *rest = content.split(corpora.BETWEEN, 1)
    (folder / "shard.json").write_bytes(index)
    for rows in rest:
        (folder / "shard.npy").write_bytes(rows)
    store = RowStore(folder)
    keys = [key for key in ("a", "b") if not store.missing([key])]
    if not keys:
        raise SeesayError("it counts as absent")
    return store.read(keys)
