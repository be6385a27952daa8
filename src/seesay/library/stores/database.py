"""The library's SQLite file: a connection per thread, transactions, and errors that say what to do."""

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError
from seesay.library.stores.address import check_folder
from seesay.library.stores.migrations import check_schema, migrate
from seesay.system.reading import read_regular

FILE = "library.db"
_PATIENCE = 30.0  # seconds that a writer waits for another one's batch
_CACHE = 8192  # KiB of pages that a connection keeps: what leads to the rows of a hundred thousand photos

_FILES = {"matrix.json": rb'\{"epoch": .*', "writer.lock": rb"\d*\s*", "writer.pid": rb"\d*"}
"""What else a library writes, and what stands in it where a library was here before."""
_ELSEWHERE = "choose another place by SEESAY_LIBRARY"
_MEANINGS = {
    "FULL": ("cannot be written: the disk is full", "make room; the same command goes on where it was"),
    "IOERR": ("cannot be read or written: the disk reports an error", "check the disk, and that there is room on it"),
    "READONLY": ("may only be read", _ELSEWHERE),
    "CANTOPEN": ("cannot be opened", _ELSEWHERE),
    "PERM": ("may not be opened", _ELSEWHERE),
    "BUSY": (f"has been busy for {_PATIENCE:.0f} seconds with what another program writes", "try again"),
    "LOCKED": ("is locked by another program", "try again"),
    "CORRUPT": ("is damaged", "seesay library rebuild FOLDER"),
    "NOTADB": ("is damaged: its file is no database", "seesay library rebuild FOLDER"),
}


class Database:
    """The file `library.db` of a folder, created where it is not there. Any thread may use it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     database = Database(Path(folder))
        ...     with database.transaction() as connection:
        ...         _ = connection.execute("INSERT INTO about VALUES ('epoch', '1')")
        ...     database.rows("SELECT * FROM about WHERE key = ?", "epoch")
        [('epoch', '1')]
    """

    def __init__(self, folder: Path) -> None:
        self.folder = check_folder(folder)
        _refuse_others_files(folder)
        self._own = threading.local()
        self._connections: list[sqlite3.Connection] = []
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)  # thumbnails are nobody else's business
        except (OSError, ValueError) as error:  # a null in the name is a ValueError
            why = getattr(error, "strerror", None) or error
            raise SeesayError(f"cannot keep a library in {str(folder)!r}: {why}", hint=_ELSEWHERE) from error
        self._connection()

    def _connection(self) -> sqlite3.Connection:
        """This thread's own."""
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is not None:
            return connection
        with self._errors():
            if not _may_write(self.folder) and (self.folder / FILE).is_file():
                return self._keep(_open_unchanging(self.folder / FILE))
            connection = sqlite3.connect(
                self.folder / FILE, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                migrate(connection, str(self.folder))
                connection.execute("PRAGMA journal_mode = WAL")
                # A commit survives the end of the process; a power cut may cost the last ones and never more.
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute(f"PRAGMA cache_size = -{_CACHE}")
            except BaseException:
                connection.close()
                raise
        return self._keep(connection)

    def _keep(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        self._connections.append(connection)
        self._own.connection = connection
        return connection

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """All rows that a query gives."""
        connection = self._connection()
        with self._errors():
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All of the block or nothing of it; `DEFERRED` to read several things at one moment."""
        connection = self._connection()
        with self._errors():
            connection.execute(f"BEGIN {kind}")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has rolled it back already
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Say what SQLite's errors mean for the person who runs into them."""
        try:
            yield
        except sqlite3.Error as error:
            code = str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_").partition("_")[0]
            what, hint = _MEANINGS.get(code, (f"does not answer: {error}", "seesay library status"))
            if str(error).startswith("Could not decode"):  # which has no code
                what, hint = "has rows that are damaged", "seesay library repair"
            raise SeesayError(f"the library {self.folder} {what}", hint=hint) from error

    def close(self) -> None:
        """Close the connections of all threads; the next use opens another."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._own = threading.local()


def _refuse_others_files(folder: Path) -> None:
    """See to it that a library which is begun in a folder replaces nothing there.

    Raises:
        SeesayError: A file has a name that the library will use, and is none of a library's.
    """
    if any(folder.glob(f"{FILE}*")):  # here is a library, or one that was set aside
        return
    for name, own in _FILES.items():
        if not os.path.lexists(folder / name):
            continue
        try:
            found = read_regular(folder / name, at_most=4096)
        except OSError:  # too large, a folder or a device
            found = b"?"
        if not re.fullmatch(own, found):
            raise SeesayError(
                f"cannot begin a library in {str(folder)!r}: {name} is there, and is none of a library's",
                hint="choose a folder of its own",
            )


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and (not (folder / FILE).exists() or os.access(folder / FILE, os.W_OK))


def _open_unchanging(file: Path) -> sqlite3.Connection:
    """A library that may only be read, as on a medium or of another user: SQLite must not look for its side files."""
    address = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    try:
        check_schema(connection, str(file.parent))
    except BaseException:
        connection.close()
        raise
    return connection


def recover(folder: Path) -> Path | None:
    """Set aside a library that is too damaged to be opened; says where it is then, None where all is well."""
    try:
        database = Database(folder)
        try:
            whole = database.rows("PRAGMA integrity_check(1)") == [("ok",)]  # indices, too, as repairing does
        finally:
            database.close()
        if not whole:
            return set_aside(folder)
    except SeesayError as error:
        if "is damaged" not in error.what:
            raise
        return set_aside(folder)
    return None


def set_aside(folder: Path) -> Path | None:
    """Move a library that cannot be read out of the way; says where it is then, None where there was none."""
    if not (folder / FILE).exists():
        return None
    for suffix in ("-wal", "-shm"):
        (folder / f"{FILE}{suffix}").unlink(missing_ok=True)
    return (folder / FILE).replace(folder / f"{FILE}.damaged")
