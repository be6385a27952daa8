"""The vectors of a library as one memory map, for search; derived from the store and rewritten whenever that is wiser.

Contents never change and their ids are never given twice, so a matrix of the same epoch is right for every id that it
holds. What came later is appended in memory; rows of what is gone do no harm. Numbers are single precision: half of it
would take half the disk, and several times as long to multiply.

`matrix.json` names the arrays that belong together and is written last. A reader meets whole files or none.
"""

import json
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.types import Vector
from seesay.system.files import replace_atomically
from seesay.system.reading import parse_json, read_text, require_regular

Ids = NDArray[np.int64]
Rows = NDArray[np.float32]

BLOCK = 4096
"""Vectors that are handled at a time where the whole may not fit into memory."""
_ABANDONED = 3600  # seconds after which a partial file belongs to nobody


@dataclass(frozen=True)
class Matrix:
    """Vectors by id.

    Attributes:
        epoch: Of the library; vectors of another epoch have nothing to do with these.
        ids: (N,) ascending.
        rows: (N, D).
        later_ids: Those that were added since the arrays on disk were written.
    """

    epoch: str
    ids: Ids
    rows: Rows
    later_ids: Ids
    later_rows: Rows

    @classmethod
    def of(cls, epoch: str, ids: Ids, rows: Rows) -> "Matrix":
        return cls(epoch, ids, rows, ids[:0].copy(), rows[:0].copy())

    def __len__(self) -> int:
        return len(self.ids) + len(self.later_ids)

    @property
    def last_id(self) -> int:
        """The highest; 0 where there is none."""
        ids = self.later_ids if len(self.later_ids) else self.ids
        return int(ids[-1]) if len(ids) else 0

    def all_ids(self) -> Ids:
        return np.concatenate([self.ids, self.later_ids])

    def append(self, ids: Ids, rows: Rows) -> "Matrix":
        later_ids, later_rows = np.concatenate([self.later_ids, ids]), np.concatenate([self.later_rows, rows])
        return Matrix(self.epoch, self.ids, self.rows, later_ids, later_rows)

    def cosines(self, query: Vector) -> Vector:
        """With a unit vector (D,), in the order of `all_ids`.

        Example:
            >>> matrix = Matrix.of("e", np.array([3, 7]), np.eye(2, dtype=np.float32))
            >>> matrix.append(np.array([9]), np.array([[0.6, 0.8]], np.float32)).cosines(np.array([0, 1], np.float32))
            array([0. , 1. , 0.8], dtype=float32)
        """
        return np.concatenate([self.rows @ query, self.later_rows @ query])


def read_matrix(folder: Path, epoch: str) -> Matrix | None:
    """The matrix that lies in a folder; None where there is none of this epoch or it is damaged."""
    try:
        about = parse_json(read_text(folder / "matrix.json"))
        if about["epoch"] != epoch:
            return None
        places = [folder / Path(about[name]).name for name in ("ids", "rows")]  # in this folder, whatever it says
        for place in places:
            require_regular(place)
        ids = np.load(places[0], allow_pickle=False)
        rows = np.load(places[1], mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    fits = ids.dtype == np.int64 and rows.dtype == np.float32 and ids.ndim == 1 and rows.ndim == 2
    if not fits or len(ids) != len(rows) or (np.diff(ids) <= 0).any():
        return None
    return Matrix.of(epoch, ids, rows)


def write_matrix(folder: Path, epoch: str, n: int, dim: int, blocks: Iterable[tuple[Ids, Rows]]) -> Matrix:
    """Write n vectors, which come in blocks of ascending ids, and open what was written.

    Raises:
        SeesayError: Nothing can be written there.
        OSError: The disk is full.
    """
    token = uuid.uuid4().hex[:12]
    names = {"ids": f"matrix-{token}.ids.npy", "rows": f"matrix-{token}.rows.npy"}
    all_ids: list[Ids] = []
    try:
        # Written and not mapped: a full disk is an error here, where a map would end the process.
        with replace_atomically(folder / names["rows"]) as temporary, temporary.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (n, dim)}
            np.lib.format.write_array_header_1_0(file, header)
            for ids, rows in blocks:
                all_ids.append(ids)
                file.write(np.ascontiguousarray(rows, "<f4").data)
        with replace_atomically(folder / names["ids"]) as temporary, temporary.open("wb") as file:
            np.save(file, np.concatenate([np.zeros(0, np.int64), *all_ids]), allow_pickle=False)
        matrix = Matrix.of(
            epoch, np.load(folder / names["ids"]), np.load(folder / names["rows"], mmap_mode="r", allow_pickle=False)
        )
        with replace_atomically(folder / "matrix.json") as temporary:
            temporary.write_text(json.dumps({"epoch": epoch, **names}))
    except BaseException:
        for name in names.values():
            (folder / name).unlink(missing_ok=True)
        raise
    _tidy(folder, keep=set(names.values()))
    return matrix


def delete_matrix(folder: Path) -> None:
    """Remove the derived files; the next search makes them again."""
    (folder / "matrix.json").unlink(missing_ok=True)
    _tidy(folder, keep=set())


def _tidy(folder: Path, keep: set[str]) -> None:
    """Remove arrays that matrix.json does not name, and what killed writers left. Open maps of them stay readable."""
    stale = [path for path in folder.glob("matrix-*.npy") if path.name not in keep]
    for path in folder.glob(".matrix*.partial"):
        try:
            if time.time() - path.stat().st_mtime > _ABANDONED:
                stale.append(path)
        except OSError:
            pass  # it has found its end already
    for path in stale:
        path.unlink(missing_ok=True)


def rows_of(blobs: Iterable[bytes], dim: int) -> Rows:
    """Vectors as the store keeps them, float16, as rows to multiply with: (n, D).

    Raises:
        SeesayError: A vector has another length.
    """
    each = list(blobs)
    if any(not isinstance(blob, bytes) or len(blob) != 2 * dim for blob in each):
        raise SeesayError(f"the library has vectors of other than {dim} numbers", hint="seesay library repair")
    joined = b"".join(each)
    return np.frombuffer(joined, np.float16).reshape(-1, dim).astype(np.float32)
