"""The library in a folder: SQLite is the truth, the matrix beside it is derived."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from seesay.errors import SeesayError
from seesay.library.stores.checks import checksum
from seesay.library.stores.conditions import SQLITE
from seesay.library.stores.database import Database
from seesay.library.stores.keeper import MatrixKeeper
from seesay.library.stores.matrix import Ids, Matrix
from seesay.library.stores.sql import OF_STAGE, PUT_PHOTO, UNUSED, SqlStore, beginning, date_of, pack, unpack
from seesay.library.stores.store import WAIT, busy
from seesay.library.types import Batch, File, Filter, Fingerprint, Folder, Hit, Vector
from seesay.system.locks import hold_lock

_ROUNDING = 2e-3  # half precision moves a cosine by less


class SqliteStore(SqlStore):
    """A library in one folder. It may be used from several threads: each has a connection of its own."""

    dialect = SQLITE

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database = Database(folder)
        self._keeper = MatrixKeeper(self._database)
        self._transaction = self._database.transaction

    @property
    def name(self) -> str:
        return str(self.folder)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def writing(self, *, together: bool = False) -> Iterator[None]:
        with ExitStack() as stack:
            try:
                stack.enter_context(hold_lock(self.folder / "writer.lock", busy(self.name), hint=WAIT))
            except OSError as error:
                raise SeesayError(f"the library {self.name} may only be read: {error.strerror or error}") from error
            yield

    def _rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._database.rows(sql, *parameters)

    def start(
        self, fingerprint: Fingerprint, stages: Mapping[str, Fingerprint] = {}, *, only_if_empty: bool = False
    ) -> None:
        with self._transaction() as connection:
            if only_if_empty and connection.execute("SELECT 1 FROM about WHERE key = 'fingerprint'").fetchone():
                return
            for table in ("photos", "failures", "contents"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute(f"DELETE FROM about WHERE {OF_STAGE}")
            connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", beginning(fingerprint, stages).items())
        self._keeper.delete()

    def set_folders(self, folders: Iterable[Folder], known: Sequence[Folder] | None = None) -> bool:
        rows = [(os.fsencode(folder.path), json.dumps(folder.exclude)) for folder in folders]
        with self._transaction() as connection:
            if known is not None and self.folders() != list(known):
                return False
            connection.execute("DELETE FROM folders")
            connection.executemany("INSERT INTO folders VALUES (?, ?)", rows)
        return True

    def digests(self) -> set[str]:
        return {digest for (digest,) in self._rows("SELECT digest FROM contents")}

    def write(self, batch: Batch) -> list[tuple[File, str]]:
        left: list[tuple[File, str]] = []
        with self._transaction() as connection:
            for content in batch.contents:
                described = content.digest, content.width, content.height, content.taken, content.camera
                added = connection.execute(
                    "INSERT INTO contents (digest, width, height, taken, camera) VALUES (?, ?, ?, ?, ?) "
                    "ON CONFLICT DO NOTHING RETURNING id",
                    described,
                ).fetchone()
                if added is None:
                    continue
                vector, views = pack(content.vector), [(stage, pack(view)) for stage, view in content.views.items()]
                connection.execute("INSERT INTO vectors VALUES (?, ?)", (*added, vector))
                connection.execute("INSERT INTO thumbnails VALUES (?, ?)", (*added, content.thumbnail))
                connection.executemany("INSERT INTO views VALUES (?, ?, ?)", [(*added, *view) for view in views])
                tags = [(number, *added, probability) for number, probability in content.tags]
                connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
                crc = checksum(described, vector, content.thumbnail, views, content.tags)
                connection.execute("INSERT INTO checks VALUES (?, ?)", (*added, crc))
            for file, digest in batch.photos:
                found = connection.execute("SELECT id, taken FROM contents WHERE digest = ?", (digest,)).fetchone()
                if found is None:
                    left.append((file, digest))
                    continue
                content_id, taken = found
                connection.execute(PUT_PHOTO, (*file, date_of(file, taken), content_id))
                connection.execute("DELETE FROM failures WHERE path = ?", (file.path,))
            for failure in batch.failures:
                connection.execute("DELETE FROM photos WHERE path = ?", (failure.file.path,))
                told = (*failure.file, failure.reason, failure.hint)
                connection.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)", told)
        return left

    def forget(self, paths: Collection[bytes]) -> None:
        rows = [(path,) for path in paths]
        with self._transaction() as connection:
            for table in ("photos", "failures"):
                connection.executemany(f"DELETE FROM {table} WHERE path = ?", rows)

    def drop_unused(self) -> int:
        with self._transaction() as connection:
            return connection.execute(f"DELETE FROM contents WHERE {UNUSED}").rowcount

    def nearest(self, query: Vector, n: int, where: Filter, bonus: Mapping[int, float] | None = None) -> list[Hit]:
        hits = self._nearest(self._keeper.current(), query, n, where, bonus or {})
        if hits is None:
            hits = self._nearest(self._keeper.write(), query, n, where, bonus or {})
        if hits is not None:
            return hits
        raise SeesayError(f"the library {self.name} has vectors that are damaged", hint="seesay library rebuild")

    def _nearest(
        self, matrix: Matrix, query: Vector, n: int, where: Filter, bonus: Mapping[int, float]
    ) -> list[Hit] | None:
        """The answer, or None where the matrix does not agree with the store."""
        if not len(matrix):
            return []
        ids, scores = matrix.all_ids(), matrix.cosines(query)
        for content, worth in bonus.items():
            place = int(np.searchsorted(ids, content))
            if place < len(ids) and ids[place] == content:
                scores[place] += worth
        # Most often the best few pass the filter; where they do not, those that pass are looked up first.
        best = _best(scores, min(len(ids), 2 * n + 32))
        photos = self.photos_of(ids[best], where)
        if len(photos) < n and len(best) < len(ids):
            passing = np.flatnonzero(np.isin(ids, np.array(self.contents(where), np.int64)))
            best = passing[_best(scores[passing], min(len(passing), n))]
            photos = self.photos_of(ids[best], where)
        best = np.array([place for place in best if int(ids[place]) in photos][:n], np.int64)
        vectors = self.vectors(ids[best].tolist())
        hits = []
        for place in best:
            content = int(ids[place])
            vector = vectors.get(content)
            if vector is None:
                continue  # it has gone in between
            score = float(vector @ query)
            if not abs(score + bonus.get(content, 0.0) - float(scores[place])) < _ROUNDING:
                return None
            hits.append(Hit(score, vector, tuple(photos[content])))
        return hits

    def vectors(self, contents: Sequence[int]) -> dict[int, Vector]:
        rows = self._of_contents("SELECT content, vector FROM vectors WHERE", contents)
        made_with = self.fingerprint()
        with self._whole("a vector"):
            return {content: unpack(vector).reshape(made_with.dim if made_with else -1) for content, vector in rows}


def _best(scores: Vector, n: int) -> Ids:
    """Places of the n highest, highest first; equal ones in their order."""
    places = np.argpartition(-scores, n - 1)[:n] if n < len(scores) else np.arange(len(scores))
    return places[np.lexsort((places, -scores[places]))]
