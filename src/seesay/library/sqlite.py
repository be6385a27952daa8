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
from seesay.library.conditions import below, conditions
from seesay.library.database import Database
from seesay.library.keeper import MatrixKeeper
from seesay.library.locking import hold_lock
from seesay.library.matrix import Ids, Matrix
from seesay.library.store import Batch, Counts, Failure, File, Filter, Fingerprint, Folder, Hit, Photo, Tags, Vector

_ROUNDING = 2e-3  # half precision moves a cosine by less
_PHOTO = "p.id, p.path, p.content, p.size, p.mtime_ns, p.date, c.width, c.height, c.taken, c.camera"
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
        return self._fingerprint("fingerprint")

    def regions_fingerprint(self) -> Fingerprint | None:
        return self._fingerprint("regions")

    def _fingerprint(self, key: str) -> Fingerprint | None:
        text = self._about().get(key)
        return Fingerprint(**json.loads(text)) if text else None

    def start(self, fingerprint: Fingerprint, regions: Fingerprint | None = None) -> None:
        about = {
            "fingerprint": json.dumps(asdict(fingerprint)),
            "regions": json.dumps(asdict(regions)) if regions else "",
            "epoch": uuid.uuid4().hex,
        }
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
        passes, parameters = below([folder])
        known: dict[bytes, File] = {}
        for table in ("photos", "failures"):
            rows = self._rows(f"SELECT path, size, mtime_ns FROM {table} WHERE {passes}", *parameters)
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
                if content.regions is not None:
                    seen = np.ascontiguousarray(content.regions, np.float16).tobytes()
                    connection.execute("INSERT INTO regions VALUES (?, ?)", (*added, seen))
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

    def _contents(self, where: Filter) -> Ids:
        passes, parameters = conditions(where)
        rows = self._rows(f"SELECT p.content FROM {_JOINED} WHERE {passes}", *parameters)
        return np.array(rows, np.int64).reshape(-1)

    def _photos_of(self, contents: Ids, where: Filter) -> dict[int, list[Photo]]:
        passes, parameters = conditions(where)
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

    def vectors(self, contents: Sequence[int]) -> dict[int, Vector]:
        return self._arrays("vectors", contents, ())

    def regions(self, contents: Sequence[int]) -> dict[int, Vector]:
        made_with = self.regions_fingerprint()
        return self._arrays("regions", contents, (-1, made_with.dim)) if made_with else {}

    def _arrays(self, table: str, contents: Sequence[int], shape: tuple[int, ...]) -> dict[int, Vector]:
        wanted = "WHERE content IN (SELECT value FROM json_each(?))"
        rows = self._rows(f"SELECT content, vector FROM {table} {wanted}", json.dumps(list(contents)))
        return {
            content: np.frombuffer(vector, np.float16).astype(np.float32).reshape(shape or -1)
            for content, vector in rows
        }

    def latest(self, n: int, where: Filter, skip: int = 0) -> list[Photo]:
        passes, parameters = conditions(where)
        rows = self._rows(
            f"SELECT {_PHOTO} FROM {_JOINED} WHERE {passes} ORDER BY p.date DESC, p.id DESC LIMIT ? OFFSET ?",
            *parameters,
            n,
            skip,
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
        passes, parameters = below(folders)
        rows = self._rows(
            f"SELECT path, size, mtime_ns, reason, hint FROM failures WHERE {passes} ORDER BY path", *parameters
        )
        return [Failure(File(*row[:3]), *row[3:]) for row in rows]

    def counts(self, folders: Sequence[Path] = ()) -> Counts:
        passes, parameters = below(folders)
        ((n_photos, n_contents),) = self._rows(
            f"SELECT count(*), count(DISTINCT content) FROM photos WHERE {passes}", *parameters
        )
        ((n_failures,),) = self._rows(f"SELECT count(*) FROM failures WHERE {passes}", *parameters)
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
