"""The matrix of a SQLite library, kept in step with it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from seesay.errors import SeesayError
from seesay.library.stores import matrix as matrices
from seesay.library.stores.codes import N_SAMPLE, Codes, Scheme, encode_blocks
from seesay.library.stores.database import Database
from seesay.library.stores.matrix import BLOCK, Ids, Matrix, Rows, delete_matrix, read_matrix, rows_of, write_matrix
from seesay.library.types import Fingerprint

_LATER = 2 * BLOCK  # vectors appended in memory before the matrix is written again


class MatrixKeeper:
    """Gives the matrix of a library as the library is at the moment."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._matrix: Matrix | None = None

    def current(self) -> Matrix:
        """The matrix with every vector that the library holds, read or written again only where it has to be."""
        rows = self.database.rows
        epoch = dict(rows("SELECT key, value FROM about")).get("epoch", "")
        ((last_given,),) = rows("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'contents'")
        matrix = self._matrix
        if matrix is None or matrix.epoch != epoch:
            matrix = read_matrix(self.database.folder, epoch)
            ((n_contents,),) = rows("SELECT count(*) FROM contents")
            if matrix is not None and len(matrix) > 2 * n_contents + BLOCK:  # mostly rows of what is gone
                matrix = None
        # A matrix that knows ids which were never given belongs to a library of which this is an older copy.
        if matrix is None or matrix.last_id > last_given:
            return self.write()
        if matrix.last_id < last_given:
            later = rows("SELECT content, vector FROM vectors WHERE content > ? ORDER BY content", matrix.last_id)
            if len(matrix.later_ids) + len(later) > _LATER:
                return self.write()
            matrix = matrix.append(*_arrays(later, matrix.dim))
        self._matrix = matrix
        return matrix

    def write(self) -> Matrix:
        """Make the matrix again from the library; where it cannot be written, it is kept in memory."""
        with self.database.transaction("DEFERRED") as connection:
            about = dict(connection.execute("SELECT key, value FROM about").fetchall())
            (n,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
            dim = _dim_of(about)
            epoch = about.get("epoch", "")
            matrix, scheme = None, None
            if n >= matrices.MANY:
                scheme = Scheme.fit(_sample(connection, dim))
            with suppress(SeesayError, OSError):  # a full disk, or a folder that may only be read
                matrix = write_matrix(self.database.folder, epoch, n, dim, _blocks(connection, dim), scheme)
            if matrix is None:
                matrix = _in_memory(epoch, dim, _blocks(connection, dim), scheme)
        self._matrix = matrix
        return matrix

    def delete(self) -> None:
        """Forget the matrix and remove its files."""
        self._matrix = None
        delete_matrix(self.database.folder)


def _dim_of(about: dict[str, str]) -> int:
    """Numbers of a vector, as the library says."""
    try:
        return Fingerprint.from_json(about["fingerprint"]).dim if "fingerprint" in about else 1
    except (TypeError, ValueError) as error:
        raise SeesayError("the library does not say what its vectors are", hint="seesay library repair") from error


def _blocks(connection: sqlite3.Connection, dim: int) -> Iterator[tuple[Ids, Rows]]:
    cursor = connection.execute("SELECT content, vector FROM vectors ORDER BY content")
    while rows := cursor.fetchmany(BLOCK):
        yield _arrays(rows, dim)


def _in_memory(epoch: str, dim: int, blocks: Iterator[tuple[Ids, Rows]], scheme: Scheme | None) -> Matrix:
    """The matrix where no file can be written."""
    all_ids: list[Ids] = [np.zeros(0, np.int64)]

    def vectors() -> Iterator[Rows]:
        for ids, rows in blocks:
            all_ids.append(ids)
            yield rows

    if scheme is None:
        whole = np.concatenate([np.zeros((0, dim), np.float32), *vectors()])
        return Matrix.of(epoch, np.concatenate(all_ids), whole)
    parts = list(encode_blocks(scheme, vectors()))
    codes = Codes(
        scheme,
        np.concatenate([part.reshape(-1) for part in parts]),
        np.concatenate([part.sum(0, dtype=np.int32) for part in parts]),
    )
    return Matrix.of(epoch, np.concatenate(all_ids), codes)


def _sample(connection: sqlite3.Connection, dim: int) -> Rows:
    """Vectors from all over the library, or its first ones, where most ids are of what is gone."""
    first, last = connection.execute("SELECT min(content), max(content) FROM vectors").fetchone()
    ids = np.unique(np.linspace(first, last, N_SAMPLE).astype(np.int64))
    spread = "SELECT content, vector FROM vectors WHERE content IN (SELECT value FROM json_each(?))"
    rows = connection.execute(spread, (json.dumps(ids.tolist()),)).fetchall()
    if len(rows) < N_SAMPLE // 2:
        rows = connection.execute("SELECT content, vector FROM vectors LIMIT ?", (N_SAMPLE,)).fetchall()
    return _arrays(rows, dim)[1]


def _arrays(rows: list[tuple[int, bytes]], dim: int) -> tuple[Ids, Rows]:
    return np.array([content for content, _ in rows], np.int64), rows_of((vector for _, vector in rows), dim)
