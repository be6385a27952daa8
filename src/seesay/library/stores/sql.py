"""The verbs of a store that every SQL database answers alike."""

import json
import uuid
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.stores.conditions import Dialect, below, conditions
from seesay.library.stores.store import Store
from seesay.library.types import (
    Counts,
    Failure,
    File,
    Filter,
    Fingerprint,
    Folder,
    Photo,
    Tagged,
    Tags,
    Vector,
    as_path,
)

_PHOTO = "p.id, p.path, p.content, p.size, p.mtime_ns, p.date, c.width, c.height, c.taken, c.camera"
_JOINED = "photos p JOIN contents c ON c.id = p.content"
UNUSED = "NOT EXISTS (SELECT 1 FROM photos WHERE content = contents.id)"
"""That no photo has a content any more."""
OF_STAGE = "key NOT IN ('fingerprint', 'epoch', 'format')"
"""That a row of `about` is of a later stage of search: whatever it is called, it has the fingerprint of its views."""
PUT_PHOTO = (
    "INSERT INTO photos (path, size, mtime_ns, date, content) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns, "
    "date = excluded.date, content = excluded.content"
)


class DamagedError(SeesayError):
    """A row of the library that cannot be right."""


class SqlStore(Store):
    """Reading, for stores whose tables are those of `seesay.library.stores.migrations`."""

    dialect: ClassVar[Dialect]

    @abstractmethod
    def _rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """All rows that a query gives; its values are written `?`."""

    @contextmanager
    def _whole(self, what: str) -> Iterator[None]:
        """Say of a row that cannot be right that it is damaged, and what mends it."""
        try:
            yield
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            hint = "seesay library repair"
            raise DamagedError(f"the library {self.name} is damaged: {what} cannot be read", hint=hint) from error

    def fingerprint(self) -> Fingerprint | None:
        return self._fingerprint("fingerprint")

    def stages(self) -> dict[str, Fingerprint]:
        rows = self._rows(f"SELECT key, value FROM about WHERE {OF_STAGE} ORDER BY key")
        with self._whole("what its views were made with"):
            return {stage: Fingerprint.from_json(value) for stage, value in rows if value}

    def _fingerprint(self, key: str) -> Fingerprint | None:
        found = self._rows("SELECT value FROM about WHERE key = ?", key)
        with self._whole("what its vectors were made with"):
            return Fingerprint.from_json(found[0][0]) if found and found[0][0] else None

    def folders(self) -> list[Folder]:
        rows = self._rows("SELECT path, exclude FROM folders ORDER BY path")
        with self._whole("a folder"):
            return [Folder(as_path(path), _read_patterns(exclude)) for path, exclude in rows]

    def files(self, folder: Path) -> dict[bytes, File]:
        passes, parameters = below([folder])
        known: dict[bytes, File] = {}
        for table in ("photos", "failures"):
            rows = self._rows(f"SELECT path, size, mtime_ns FROM {table} WHERE {passes}", *parameters)
            with self._whole("a file"):
                known.update((bytes(row[0]), File(bytes(row[0]), int(row[1]), int(row[2]))) for row in rows)
        return known

    def contents(self, where: Filter) -> list[int]:
        """Those that have a photo which passes a filter."""
        passes, parameters = conditions(where, self.dialect)
        return [content for (content,) in self._rows(f"SELECT p.content FROM {_JOINED} WHERE {passes}", *parameters)]

    def photos_of(self, contents: Iterable[int], where: Filter) -> dict[int, list[Photo]]:
        """The photos of contents that pass a filter, the oldest id first, by content."""
        passes, parameters = conditions(where, self.dialect)
        rows = self._rows(
            f"SELECT {_PHOTO} FROM {_JOINED} WHERE p.content {self.dialect.one_of} AND {passes} ORDER BY p.id",
            self.dialect.numbers(contents),
            *parameters,
        )
        photos: dict[int, list[Photo]] = {}
        with self._whole("a photo"):
            for row in rows:
                photo = _photo(row)
                photos.setdefault(photo.content, []).append(photo)
        return photos

    def views(self, stage: str, contents: Sequence[int]) -> dict[int, Vector]:
        made_with = self._fingerprint(stage)
        if made_with is None:
            return {}
        rows = self._of_contents("SELECT content, vector FROM views WHERE stage = ? AND", contents, stage)
        with self._whole(f"what {stage} keeps of a photo"):
            return {content: unpack(vector).reshape(-1, made_with.dim) for content, vector in rows}

    def _of_contents(self, select: str, contents: Collection[int], *parameters: Any) -> list[tuple[Any, ...]]:
        return self._rows(f"{select} content {self.dialect.one_of}", *parameters, self.dialect.numbers(contents))

    def latest(self, n: int, where: Filter, skip: int = 0) -> list[Photo]:
        passes, parameters = conditions(where, self.dialect)
        rows = self._rows(
            f"SELECT {_PHOTO} FROM {_JOINED} WHERE {passes} ORDER BY p.date DESC, p.id DESC LIMIT ? OFFSET ?",
            *parameters,
            n,
            skip,
        )
        with self._whole("a photo"):
            return [_photo(row) for row in rows]

    def photo(self, photo_id: int) -> Photo | None:
        rows = self._rows(f"SELECT {_PHOTO} FROM {_JOINED} WHERE p.id = ?", photo_id)
        with self._whole("a photo"):
            return _photo(rows[0]) if rows else None

    def thumbnail(self, photo_id: int) -> bytes | None:
        rows = self._rows("SELECT jpeg FROM thumbnails JOIN photos USING (content) WHERE photos.id = ?", photo_id)
        with self._whole("a thumbnail"):
            return bytes(rows[0][0]) if rows else None

    def tagged(self, classes: Sequence[int]) -> Tagged:
        sql = f"SELECT content, class, probability FROM tags WHERE class {self.dialect.one_of}"
        rows = self._rows(sql, self.dialect.numbers(classes))
        with self._whole("a tag"):
            numbers = np.fromiter(chain.from_iterable(rows), np.float64, 3 * len(rows)).reshape(-1, 3)
            return Tagged(numbers[:, 0].astype(np.int64), numbers[:, 1].astype(np.int64), numbers[:, 2])

    def tags(self, contents: Sequence[int]) -> dict[int, Tags]:
        rows = self._rows(
            f"SELECT content, class, probability FROM tags WHERE content {self.dialect.one_of} "
            "ORDER BY probability DESC, class",
            self.dialect.numbers(contents),
        )
        found: dict[int, list[tuple[int, float]]] = {}
        with self._whole("a tag"):
            for content, number, probability in rows:
                found.setdefault(content, []).append((int(number), float(probability)))
        return {content: tuple(tags) for content, tags in found.items()}

    def failures(self, folders: Sequence[Path] = ()) -> list[Failure]:
        passes, parameters = below(folders)
        rows = self._rows(
            f"SELECT path, size, mtime_ns, reason, hint FROM failures WHERE {passes} ORDER BY path", *parameters
        )
        with self._whole("a failure"):
            return [Failure(File(bytes(row[0]), int(row[1]), int(row[2])), str(row[3]), row[4]) for row in rows]

    def counts(self, folders: Sequence[Path] = ()) -> Counts:
        passes, parameters = below(folders)
        ((n_photos, n_contents),) = self._rows(
            f"SELECT count(*), count(DISTINCT content) FROM photos WHERE {passes}", *parameters
        )
        ((n_failures,),) = self._rows(f"SELECT count(*) FROM failures WHERE {passes}", *parameters)
        return Counts(n_photos, n_contents, n_failures)


def _read_patterns(text: str) -> tuple[str, ...]:
    patterns = json.loads(text)
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise ValueError("they are no patterns")
    return tuple(patterns)


def pack(vector: NDArray[np.floating[Any]]) -> bytes:
    """Numbers as they are kept: float16."""
    return np.ascontiguousarray(vector, np.float16).tobytes()


def unpack(vector: bytes) -> Vector:
    """Numbers that were kept, to multiply with."""
    return np.frombuffer(vector, np.float16).astype(np.float32)


def beginning(fingerprint: Fingerprint, stages: Mapping[str, Fingerprint]) -> dict[str, str]:
    """What a library that begins says about itself."""
    about = {key: json.dumps(asdict(made_with)) for key, made_with in {"fingerprint": fingerprint, **stages}.items()}
    return {**about, "epoch": uuid.uuid4().hex}


def date_of(file: File, taken: str | None) -> str:
    """When a photo was taken, or where that is not known, when its file was last changed, in local time as cameras."""
    if taken:
        return taken
    try:
        return datetime.fromtimestamp(file.mtime_ns / 1e9).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # a date beyond what the calendar holds
        return "0001-01-01T00:00:00"


def _photo(row: tuple[Any, ...]) -> Photo:
    photo_id, path, content, size, mtime_ns, date, width, height, taken, camera = row
    numbers = int(content), int(size), int(mtime_ns)
    return Photo(int(photo_id), as_path(bytes(path)), *numbers, str(date), int(width), int(height), taken, camera)
