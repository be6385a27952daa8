"""The library in a folder: SQLite is the truth, the matrix beside it is derived."""

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from seesay.errors import SeesayError
from seesay.library.stores.checks import checksum
from seesay.library.stores.conditions import SQLITE
from seesay.library.stores.database import Database
from seesay.library.stores.keeper import MatrixKeeper
from seesay.library.stores.matrix import Ids, Matrix
from seesay.library.stores.shortlist import DisagreeError, exact_best
from seesay.library.stores.sql import OF_STAGE, PUT_PHOTO, UNUSED, SqlStore, beginning, date_of, pack, unpack
from seesay.library.stores.store import WAIT, busy
from seesay.library.types import Batch, File, Filter, Fingerprint, Folder, Hit, Vector
from seesay.system.locks import hold_lock

_ROUNDING = 2e-3  # half precision moves a cosine by less
_CODING = 0.1  # and codes of a byte by less than this


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

    def require_room(self, n_photos: int) -> None:
        held = self.fingerprint()
        needed = n_photos * 2 * held.dim if held is not None else 0  # thumbnails and regions take more than that again
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise SeesayError(
                f"the disk of the library {self.name} has {free / 1e6:,.1f} MB left, and the vectors of {n_photos:,} "
                f"photos alone take {needed / 1e6:,.1f} MB",
                hint=f"make room, or choose another place by SEESAY_LIBRARY; seesay plan --photos {n_photos}",
            )

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
        for current in (self._keeper.current, self._keeper.write):
            with suppress(DisagreeError):  # with the matrix as it is, which is then made again
                return self._nearest(current(), query, n, where, bonus or {})
        raise SeesayError(f"the library {self.name} has vectors that are damaged", hint="seesay library rebuild")

    def _nearest(self, matrix: Matrix, query: Vector, n: int, where: Filter, bonus: Mapping[int, float]) -> list[Hit]:
        if not len(matrix):
            return []
        ids, scores, added = matrix.all_ids(), matrix.cosines(query), _added(matrix.all_ids(), bonus)
        if added is not None:
            scores += added
        tolerance = _ROUNDING if matrix.is_exact else _CODING * max(1.0, float(np.linalg.norm(query)))
        known: dict[int, tuple[float, Vector]] = {}

        def rank(n_wanted: int, among: Ids | None = None) -> list[tuple[int, float, Vector]]:
            """The best contents, of all or among some places, with their cosines and vectors."""

            def exact(places: Ids) -> Vector:
                own_places = places if among is None else among[places]
                contents = ids[own_places].tolist()
                held, vectors = self._vectors([content for content in contents if content not in known])
                known.update(zip(held, zip((vectors @ query).tolist(), vectors, strict=True), strict=True))
                found = np.array([known[each][0] if each in known else np.nan for each in contents], np.float32)
                return found if added is None else found + added[own_places]

            own = scores if among is None else scores[among]
            if not len(own):
                return []
            places, _ = exact_best(own, n_wanted, exact, tolerance, nearly=not matrix.is_exact)
            contents = ids[places if among is None else among[places]].tolist()
            return [(content, *known[content]) for content in contents]

        # Most often the best few pass the filter; where they do not, those that pass are looked up first.
        best = rank(n) if where == Filter() else rank(2 * n + 32)
        photos = self.photos_of([content for content, _, _ in best[:n]], where)
        if len(photos) < n:
            best = rank(2 * n + 32)
            photos = self.photos_of([content for content, _, _ in best], where)
        if len(photos) < n and len(best) < len(ids):
            best = rank(n, np.flatnonzero(np.isin(ids, np.array(self.contents(where), np.int64))))
            photos = self.photos_of([content for content, _, _ in best], where)
        passing = [each for each in best if each[0] in photos]
        return [Hit(cosine, vector, tuple(photos[content])) for content, cosine, vector in passing[:n]]

    def vectors(self, contents: Sequence[int]) -> dict[int, Vector]:
        return dict(zip(*self._vectors(contents), strict=True))

    def _vectors(self, contents: Sequence[int]) -> tuple[list[int], Vector]:
        """Those of the contents that are there, and their vectors as rows."""
        rows = self._of_contents("SELECT content, vector FROM vectors WHERE", contents) if contents else []
        made_with = self.fingerprint()
        with self._whole("a vector"):
            joined = unpack(b"".join(vector for _, vector in rows))
            dim = made_with.dim if made_with else len(joined) // max(1, len(rows))
            return [content for content, _ in rows], joined.reshape(len(rows), dim)


def _added(ids: Ids, bonus: Mapping[int, float]) -> Vector | None:
    """What is added at each place; contents that the matrix does not know are left out. None for nothing."""
    if not bonus:
        return None
    contents = np.fromiter(bonus, np.int64, len(bonus))
    worth = np.fromiter(bonus.values(), np.float32, len(bonus))
    places = np.searchsorted(ids, contents)
    there = places < len(ids)
    there[there] = ids[places[there]] == contents[there]
    added = np.zeros(len(ids), np.float32)
    added[places[there]] = worth[there]
    return added
