"""The library in a folder: SQLite is the truth, the matrix beside it is derived."""

import json
import os
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from seesay.errors import SeesayError
from seesay.library import store
from seesay.library.database import Database
from seesay.library.keeper import MatrixKeeper
from seesay.library.locking import hold_lock
from seesay.library.matrix import Ids, Matrix
from seesay.library.store import Batch, Counts, Failure, File, Filter, Fingerprint, Folder, Hit, Photo, Tags, Vector
from seesay.library.tags import SHOWN

_ROUNDING = 2e-3  # half precision moves a cosine by less
_PHOTO = "p.id, p.path, p.content, p.size, p.date, c.width, c.height, c.taken, c.camera"
_JOINED = "photos p JOIN contents c ON c.id = p.content"


class SqliteStore(store.Store):
    """A library in one folder. It may be used from several threads: each has a connection of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database = Database(folder)
        self._keeper = MatrixKeeper(self._database)
        self._rows = self._database.rows
        self._transaction = self._database.transaction

    @property
    def name(self) -> str:
        return str(self.folder)

    def close(self) -> None:
        self._database.close()

    def writing(self) -> AbstractContextManager[None]:
        return hold_lock(self.folder / "writer.lock", f"the library {self.name}")

    def _about(self) -> dict[str, str]:
        return dict(self._rows("SELECT key, value FROM about"))

    def fingerprint(self) -> Fingerprint | None:
        text = self._about().get("fingerprint")
        return Fingerprint(**json.loads(text)) if text else None

    def start(self, fingerprint: Fingerprint) -> None:
        about = {"fingerprint": json.dumps(asdict(fingerprint)), "epoch": uuid.uuid4().hex}
        with self._transaction() as connection:
            for table in ("photos", "failures", "contents"):
                connection.execute(f"DELETE FROM {table}")
            connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
        self._keeper.delete()

    def folders(self) -> list[Folder]:
        rows = self._rows("SELECT path, exclude FROM folders ORDER BY path")
        return [Folder(store.as_path(path), tuple(json.loads(exclude))) for path, exclude in rows]

    def set_folders(self, folders: Iterable[Folder]) -> None:
        rows = [(os.fsencode(folder.path), json.dumps(folder.exclude)) for folder in folders]
        with self._transaction() as connection:
            connection.execute("DELETE FROM folders")
            connection.executemany("INSERT INTO folders VALUES (?, ?)", rows)

    def files(self, folder: Path) -> dict[bytes, File]:
        below, parameters = _below([folder])
        known: dict[bytes, File] = {}
        for table in ("photos", "failures"):
            rows = self._rows(f"SELECT path, size, mtime_ns FROM {table} WHERE {below}", *parameters)
            known.update((row[0], File(*row)) for row in rows)
        return known

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
                vector = np.ascontiguousarray(content.vector, np.float16).tobytes()
                connection.execute("INSERT INTO vectors VALUES (?, ?)", (*added, vector))
                connection.execute("INSERT INTO thumbnails VALUES (?, ?)", (*added, content.thumbnail))
                tags = [(number, *added, probability) for number, probability in content.tags]
                connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
            for file, digest in batch.photos:
                found = connection.execute("SELECT id, taken FROM contents WHERE digest = ?", (digest,)).fetchone()
                if found is None:
                    left.append((file, digest))
                    continue
                content_id, taken = found
                connection.execute(
                    "INSERT INTO photos (path, size, mtime_ns, date, content) VALUES (?, ?, ?, ?, ?) "
                    "ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns, "
                    "date = excluded.date, content = excluded.content",
                    (*file, taken or _modified(file), content_id),
                )
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
            unused = "NOT EXISTS (SELECT 1 FROM photos WHERE content = contents.id)"
            return connection.execute(f"DELETE FROM contents WHERE {unused}").rowcount

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
        photos = self._photos_of(ids[best], where)
        if len(photos) < n and len(best) < len(ids):
            passing = np.flatnonzero(np.isin(ids, self._contents(where)))
            best = passing[_best(scores[passing], min(len(passing), n))]
            photos = self._photos_of(ids[best], where)
        best = np.array([place for place in best if int(ids[place]) in photos][:n], np.int64)
        vectors = self._vectors(ids[best])
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

    def _contents(self, where: Filter) -> Ids:
        passes, parameters = _conditions(where)
        rows = self._rows(f"SELECT p.content FROM {_JOINED} WHERE {passes}", *parameters)
        return np.array(rows, np.int64).reshape(-1)

    def _photos_of(self, contents: Ids, where: Filter) -> dict[int, list[Photo]]:
        passes, parameters = _conditions(where)
        rows = self._rows(
            f"SELECT {_PHOTO} FROM {_JOINED} "
            f"WHERE p.content IN (SELECT value FROM json_each(?)) AND {passes} ORDER BY p.id",
            json.dumps(contents.tolist()),
            *parameters,
        )
        photos: dict[int, list[Photo]] = {}
        for row in rows:
            photo = _photo(row)
            photos.setdefault(photo.content, []).append(photo)
        return photos

    def _vectors(self, contents: Ids) -> dict[int, Vector]:
        wanted = json.dumps(contents.tolist())
        rows = self._rows(
            "SELECT content, vector FROM vectors WHERE content IN (SELECT value FROM json_each(?))", wanted
        )
        return {content: np.frombuffer(vector, np.float16).astype(np.float32) for content, vector in rows}

    def latest(self, n: int, where: Filter) -> list[Photo]:
        passes, parameters = _conditions(where)
        rows = self._rows(
            f"SELECT {_PHOTO} FROM {_JOINED} WHERE {passes} ORDER BY p.date DESC, p.id DESC LIMIT ?",
            *parameters,
            n,
        )
        return [_photo(row) for row in rows]

    def photo(self, photo_id: int) -> Photo | None:
        rows = self._rows(f"SELECT {_PHOTO} FROM {_JOINED} WHERE p.id = ?", photo_id)
        return _photo(rows[0]) if rows else None

    def thumbnail(self, photo_id: int) -> bytes | None:
        rows = self._rows("SELECT jpeg FROM thumbnails JOIN photos USING (content) WHERE photos.id = ?", photo_id)
        return bytes(rows[0][0]) if rows else None

    def tags(self, contents: Sequence[int]) -> dict[int, Tags]:
        return self._tags("content", contents)

    def tagged(self, classes: Sequence[int]) -> dict[int, Tags]:
        return self._tags("class", classes)

    def _tags(self, column: str, wanted: Sequence[int]) -> dict[int, Tags]:
        rows = self._rows(
            f"SELECT content, class, probability FROM tags WHERE {column} IN (SELECT value FROM json_each(?)) "
            "ORDER BY probability DESC, class",
            json.dumps(list(wanted)),
        )
        found: dict[int, list[tuple[int, float]]] = {}
        for content, number, probability in rows:
            found.setdefault(content, []).append((number, probability))
        return {content: tuple(tags) for content, tags in found.items()}

    def failures(self, folders: Sequence[Path] = ()) -> list[Failure]:
        below, parameters = _below(folders)
        rows = self._rows(
            f"SELECT path, size, mtime_ns, reason, hint FROM failures WHERE {below} ORDER BY path", *parameters
        )
        return [Failure(File(*row[:3]), *row[3:]) for row in rows]

    def counts(self, folders: Sequence[Path] = ()) -> Counts:
        below, parameters = _below(folders)
        ((n_photos, n_contents),) = self._rows(
            f"SELECT count(*), count(DISTINCT content) FROM photos WHERE {below}", *parameters
        )
        ((n_failures,),) = self._rows(f"SELECT count(*) FROM failures WHERE {below}", *parameters)
        return Counts(n_photos, n_contents, n_failures)


def _best(scores: Vector, n: int) -> Ids:
    """Places of the n highest, highest first; equal ones in their order."""
    places = np.argpartition(-scores, n - 1)[:n] if n < len(scores) else np.arange(len(scores))
    return places[np.lexsort((places, -scores[places]))]


def _photo(row: tuple[Any, ...]) -> Photo:
    photo_id, path, *rest = row
    return Photo(photo_id, store.as_path(path), *rest)


def _modified(file: File) -> str:
    """When a file was last changed, as cameras write dates: local time."""
    try:
        return datetime.fromtimestamp(file.mtime_ns / 1e9).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # a date beyond what the calendar holds
        return "0001-01-01T00:00:00"


def _below(folders: Sequence[Path], column: str = "path") -> tuple[str, list[bytes]]:
    """The condition that a path lies below one of some folders; none given, everywhere."""
    if not folders:
        return "1", []
    parameters: list[bytes] = []
    for folder in folders:
        start = os.fsencode(folder).rstrip(b"/") + b"/"
        parameters += [start, start[:-1] + b"0"]  # "0" follows "/"
    return "(" + " OR ".join([f"({column} >= ? AND {column} < ?)"] * len(folders)) + ")", parameters


def _conditions(where: Filter) -> tuple[str, list[Any]]:
    passes, parameters = _below(where.folders, "p.path")
    conditions: list[str] = [passes]
    values: list[Any] = [*parameters]
    if where.within:
        conditions.append("instr(p.path, ?)")
        values.append(b"/" + os.fsencode(where.within).strip(b"/") + b"/")
    if where.during:
        conditions.append("substr(p.date, 1, ?) = ?")
        values += [len(where.during), where.during]
    if where.after:
        conditions.append("p.date >= ?")
        values.append(where.after)
    if where.before:
        conditions.append("p.date < ?")
        values.append(where.before)
    if where.camera:
        conditions.append("instr(lower(c.camera), ?)")
        values.append(where.camera.lower())
    if where.classes:
        conditions.append(
            "EXISTS (SELECT 1 FROM tags t WHERE t.content = c.id AND t.probability >= ? "
            "AND t.class IN (SELECT value FROM json_each(?)))"
        )
        values += [SHOWN, json.dumps(where.classes)]
    return " AND ".join(conditions), values
