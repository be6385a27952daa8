"""The vectors of a library as one memory map, for search; derived from the store and rewritten whenever that is wiser.

Contents never change and their ids are never given twice, so a matrix of the same epoch is right for every id that it
holds. What came later is appended in memory; rows of what is gone do no harm.

A library of few photos is kept in single precision. One of many is kept as codes of a byte (`seesay.library.stores
.codes`), whose products are nearly the cosines: a search takes the best few hundred and asks the store for theirs.

`matrix.json` names the arrays that belong together and is written last. A reader meets whole files or none.
"""

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.stores.codes import Codes, Scheme, encode_blocks
from seesay.library.types import Vector
from seesay.system.arrays import load_array
from seesay.system.files import replace_atomically
from seesay.system.reading import parse_json, read_text

_ARRAYS = ("ids", "rows", "codes", "sums", "scheme")
"""What matrix.json names files of."""
Ids = NDArray[np.int64]
Rows = NDArray[np.float32]

BLOCK = 4096
"""Vectors that are handled at a time where the whole may not fit into memory."""
MANY = 20_000
"""Vectors from which on they are kept as codes."""
_ABANDONED = 3600  # seconds after which a partial file belongs to nobody


@dataclass(frozen=True)
class Matrix:
    """Vectors by id.

    Attributes:
        epoch: Of the library; vectors of another epoch have nothing to do with these.
        ids: (N,) ascending.
        rows: (N, D), or codes of them.
        later_ids: Those that were added since the arrays on disk were written.
    """

    epoch: str
    ids: Ids
    rows: Rows | Codes
    later_ids: Ids
    later_rows: Rows

    @classmethod
    def of(cls, epoch: str, ids: Ids, rows: Rows | Codes) -> "Matrix":
        dim = rows.dim if isinstance(rows, Codes) else rows.shape[1]
        return cls(epoch, ids, rows, ids[:0].copy(), np.zeros((0, dim), np.float32))

    def __len__(self) -> int:
        return len(self.ids) + len(self.later_ids)

    @property
    def last_id(self) -> int:
        """The highest; 0 where there is none."""
        ids = self.later_ids if len(self.later_ids) else self.ids
        return int(ids[-1]) if len(ids) else 0

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return int(self.later_rows.shape[1])

    @property
    def is_exact(self) -> bool:
        """Whether its cosines are exact but for rounding."""
        return not isinstance(self.rows, Codes)

    def all_ids(self) -> Ids:
        return np.concatenate([self.ids, self.later_ids]) if len(self.later_ids) else self.ids

    def append(self, ids: Ids, rows: Rows) -> "Matrix":
        later_ids, later_rows = np.concatenate([self.later_ids, ids]), np.concatenate([self.later_rows, rows])
        return Matrix(self.epoch, self.ids, self.rows, later_ids, later_rows)

    def cosines(self, query: Vector) -> Vector:
        """With a unit vector (D,), in the order of `all_ids`; of codes nearly so.

        Example:
            >>> matrix = Matrix.of("e", np.array([3, 7]), np.eye(2, dtype=np.float32))
            >>> matrix.append(np.array([9]), np.array([[0.6, 0.8]], np.float32)).cosines(np.array([0, 1], np.float32))
            array([0. , 1. , 0.8], dtype=float32)
        """
        found = self.rows.products(query) if isinstance(self.rows, Codes) else self.rows @ query
        return np.concatenate([found, self.later_rows @ query]) if len(self.later_ids) else found


def read_matrix(folder: Path, epoch: str) -> Matrix | None:
    """The matrix that lies in a folder; None where there is none of this epoch or it is damaged."""
    try:
        about = parse_json(read_text(folder / "matrix.json"))
        if about["epoch"] != epoch:
            return None
        # In this folder, whatever it says.
        places = {name: folder / Path(about[name]).name for name in _ARRAYS if name in about}
        ids = load_array(places["ids"])
        is_coded = "codes" in about
        rows = _read_codes(places, float(about["step"])) if is_coded else _read_rows(places["rows"], len(ids))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if ids.dtype != np.int64 or ids.ndim != 1 or len(ids) != len(rows) or (np.diff(ids) <= 0).any():
        return None
    return Matrix.of(epoch, ids, rows)


def _read_rows(path: Path, n: int) -> Rows:
    rows = load_array(path, mapped=True)
    if rows.dtype != np.float32 or rows.ndim != 2 or n >= MANY:
        raise ValueError("they are no rows, or so many that they are to be codes")
    found: Rows = rows
    return found


def _read_codes(places: Mapping[str, Path], step: float) -> Codes:
    flat = load_array(places["codes"], mapped=True)
    sums, scheme = (load_array(places[key]) for key in ("sums", "scheme"))
    types = [array.dtype for array in (flat, sums, scheme)]
    if (
        types != [np.int8, np.int32, np.float32]
        or scheme.ndim != 2
        or flat.shape != (len(sums) * (scheme.shape[1] - 1),)
    ):
        raise ValueError("they are no codes")
    return Codes(Scheme.from_array(scheme, step), flat, sums)


def write_matrix(
    folder: Path, epoch: str, n: int, dim: int, blocks: Iterable[tuple[Ids, Rows]], scheme: Scheme | None = None
) -> Matrix:
    """Write n vectors, which come in blocks of ascending ids, as codes where a scheme is given, and open them.

    Raises:
        SeesayError: Nothing can be written there.
        OSError: The disk is full.
    """
    token = uuid.uuid4().hex[:12]
    kinds = ("ids", "rows") if scheme is None else ("ids", "codes", "sums", "scheme")
    names = {kind: f"matrix-{token}.{kind}.npy" for kind in kinds}
    all_ids: list[Ids] = [np.zeros(0, np.int64)]

    def vectors() -> Iterator[Rows]:
        for ids, rows in blocks:
            all_ids.append(ids)
            yield rows

    try:
        if scheme is None:
            rows = (np.ascontiguousarray(block, "<f4") for block in vectors())
            _write_blocks(folder / names["rows"], "<f4", (n, dim), rows)
        else:
            sums: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]

            def codes() -> Iterator[NDArray[np.int8]]:
                for block in encode_blocks(scheme, vectors()):
                    sums.append(block.sum(0, dtype=np.int32))
                    yield block

            _write_blocks(folder / names["codes"], "|i1", (n * scheme.directions.shape[1],), codes())
            _write_array(folder / names["sums"], np.concatenate(sums))
            _write_array(folder / names["scheme"], scheme.to_array())
        _write_array(folder / names["ids"], np.concatenate(all_ids))
        about = {"epoch": epoch, **names, **({"step": scheme.step} if scheme else {})}
        with replace_atomically(folder / "matrix.json") as temporary:
            temporary.write_text(json.dumps(about))
        matrix = read_matrix(folder, epoch)
        if matrix is None:
            raise SeesayError(f"what was written into {folder} cannot be read")
    except BaseException:
        for name in names.values():
            (folder / name).unlink(missing_ok=True)
        raise
    _tidy(folder, keep=set(names.values()))
    return matrix


def _write_blocks(path: Path, kind: str, shape: tuple[int, ...], blocks: Iterable[NDArray[Any]]) -> None:
    """An array of which a part at a time is at hand. Written and not mapped: a full disk is an error here, where a map
    would end the process."""
    with replace_atomically(path) as temporary, temporary.open("wb") as file:
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(block.data)


def _write_array(path: Path, array: NDArray[Any]) -> None:
    with replace_atomically(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def delete_matrix(folder: Path) -> None:
    """Remove the derived files; the next search makes them again."""
    (folder / "matrix.json").unlink(missing_ok=True)
    _tidy(folder, keep=set())


def _tidy(folder: Path, keep: set[str]) -> None:
    """Remove arrays that matrix.json does not name, and what killed writers left. Open maps of them stay readable."""
    stale = [path for path in folder.glob(f"matrix-{'[0-9a-f]' * 12}.*.npy") if path.name not in keep]
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
