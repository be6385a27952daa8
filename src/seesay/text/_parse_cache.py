"""Parses kept on disk, so that a collection is parsed once.

One SQLite file in WAL mode: any number of processes may read and write it. A parse stands under the SHA-256 of the
parser's name and version and of the tokens; the words themselves are not stored, so the file does not tell what was
searched for. Everything in it can be computed again: a damaged entry is ignored, a damaged file is replaced.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from seesay.errors import SeesayError
from seesay.text._dependencies import Dependencies

Pieces = tuple[str, ...]

_AT_ONCE = 500  # SQLite allows 999 parameters in a statement


class ParseCache:
    """The parses of one parser in a folder; a context manager.

    Args:
        folder: Made if it does not exist.
        parser: Name and version of the parser. Parses of another one are not seen.
    """

    def __init__(self, folder: Path, parser: str) -> None:
        self.path = folder / "dependencies.sqlite3"
        self._parser = parser
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = self._connect()
        except (OSError, sqlite3.OperationalError) as error:
            raise self._unusable(error) from error

    def __enter__(self) -> "ParseCache":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def get(self, sentences: Iterable[Pieces]) -> dict[Pieces, Dependencies]:
        """The parses that are there and intact."""
        wanted = {self._key(pieces): pieces for pieces in sentences}
        keys = list(wanted)
        found = {}
        try:
            for start in range(0, len(keys), _AT_ONCE):
                block = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(block))
                rows = self._connection.execute(f"SELECT key, parse FROM parses WHERE key IN ({marks})", block)
                for key, text in rows:
                    pieces = wanted[key]
                    try:
                        found[pieces] = Dependencies.from_json(text, len(pieces))
                    except (ValueError, TypeError, RecursionError):
                        continue
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from error
        except sqlite3.DatabaseError:
            self._start_over()
        return found

    def put(self, parses: Mapping[Pieces, Dependencies]) -> None:
        """Keep parses, all of them or, after a kill, none."""
        rows = [(self._key(pieces), parse.to_json()) for pieces, parse in parses.items()]
        try:
            try:
                self._insert(rows)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self._start_over()
                self._insert(rows)
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from error

    def _insert(self, rows: Sequence[tuple[bytes, str]]) -> None:
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO parses VALUES (?, ?)", rows)

    def _key(self, pieces: Pieces) -> bytes:
        return hashlib.sha256("\0".join((self._parser, *pieces)).encode()).digest()

    def _connect(self) -> sqlite3.Connection:
        try:
            return self._open()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # not an SQLite file
            self._remove()
            return self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=60)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS parses (key BLOB PRIMARY KEY, parse TEXT NOT NULL) WITHOUT ROWID"
            )
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _start_over(self) -> None:
        self._connection.close()
        self._remove()
        self._connection = self._open()

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _unusable(self, error: Exception) -> SeesayError:
        return SeesayError(
            f"cannot use the parse cache {self.path}: {error}",
            hint="set SEESAY_CACHE to a folder that you may write to",
        )
