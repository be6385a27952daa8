"""Rows of numbers on disk, each under the digest of the image it was made from.

A store is a folder of shards. A shard is `ID.npy`, its rows in one array, beside `ID.json`, which names the rows and
holds a checksum of each. The index is written last, and both files appear in one step, so a reader never meets half a
shard and a killed writer leaves nothing that counts. Writers never touch each other's shards: two processes that
compute the same row at once cost time and nothing else. A row whose checksum fails is forgotten, and so recomputed.
"""

import json
import uuid
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system import remote
from seesay.system.arrays import load_array
from seesay.system.files import replace_atomically
from seesay.system.reading import parse_json, read_text

Array = NDArray[np.float16]
_HELD = 1024  # rows that a store holds where it cannot write them


class RowStore:
    """A folder of equally shaped float16 rows, read through memory maps.

    Args:
        shared: A folder of object storage that every shard is copied to, and from: what others have written there is
            not computed again here.
        must_keep: Whether rows that cannot be written are an error. Otherwise a few are held for as long as this
            process needs them: a cache that may only be read is no reason to answer nobody.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = RowStore(Path(folder))
        ...     store.write(["a", "b"], np.array([[1, 2], [3, 4]], np.float16))
        ...     again = RowStore(Path(folder))
        ...     again.missing(["a", "b", "c"]), again.read(["b", "a"]).tolist()
        (['c'], [[3.0, 4.0], [1.0, 2.0]])
    """

    def __init__(self, folder: Path, *, shared: Path | None = None, must_keep: bool = True) -> None:
        self.folder = folder
        self.shared = shared
        self.must_keep = must_keep
        self._n_held = 0
        self._candidates: dict[str, list[tuple[str, int, int]]] = {}  # key → shard, row, checksum; not yet verified
        self._places: dict[str, tuple[str, int]] = {}  # key → shard, row; verified
        self._maps: dict[str, Array] = {}
        self.refresh()

    def refresh(self) -> None:
        """Take in the shards that other processes, or other machines, have finished since."""
        if self.shared is not None and remote.exists(self.shared):
            for entry in remote.list_folder(self.shared):
                if entry.path.suffix == ".json" and not (self.folder / entry.path.name).exists():
                    for path in (entry.path.with_suffix(".npy"), entry.path):
                        with replace_atomically(self.folder / path.name) as temporary:
                            temporary.write_bytes(remote.read(path))
        for index in sorted(self.folder.glob("*.json")):
            if index.stem not in self._maps:
                self._open_shard(index)

    def _open_shard(self, index: Path) -> None:
        try:
            entries = parse_json(read_text(index))
            rows = load_array(index.with_suffix(".npy"), mapped=True)
            keys, checksums = entries["keys"], entries["crc32"]
            is_index = isinstance(keys, list) and all(isinstance(key, str) for key in keys)
            if not is_index or not len(rows) == len(keys) == len(checksums) or rows.dtype != np.float16:
                return
        except (OSError, ValueError, KeyError, TypeError):
            return  # a damaged shard counts as absent: its rows are computed again
        self._take_in(index.stem, rows, keys, checksums)

    def _take_in(self, shard: str, rows: Array, keys: Sequence[str], checksums: Sequence[int]) -> None:
        self._maps[shard] = rows
        for row, (key, checksum) in enumerate(zip(keys, checksums, strict=True)):
            self._candidates.setdefault(key, []).append((shard, row, checksum))

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Those of `keys`, each once, that are not there or are damaged."""
        return [key for key in dict.fromkeys(keys) if not self._holds(key)]

    def _holds(self, key: str) -> bool:
        candidates = self._candidates.get(key, [])
        while key not in self._places and candidates:
            shard, row, checksum = candidates.pop()
            if zlib.crc32(self._maps[shard][row].tobytes()) == checksum:
                self._places[key] = (shard, row)
        return key in self._places

    def write(self, keys: Sequence[str], rows: Array) -> None:
        """Add one shard. Rows that are there already are kept; of several rows under one key any whole one is read."""
        rows = np.ascontiguousarray(rows, np.float16)
        if len(keys) != len(rows):
            raise ValueError(f"{len(keys)} keys for {len(rows)} rows")
        if self._maps and (shape := next(iter(self._maps.values())).shape[1:]) != rows.shape[1:]:
            raise SeesayError(f"rows of shape {rows.shape[1:]} do not fit {self.folder}, which holds {shape}")
        shard = uuid.uuid4().hex
        checksums = [zlib.crc32(row.tobytes()) for row in rows]
        try:
            with replace_atomically(self.folder / f"{shard}.npy") as temporary, temporary.open("wb") as file:
                np.save(file, rows, allow_pickle=False)
            with replace_atomically(self.folder / f"{shard}.json") as temporary:
                temporary.write_text(json.dumps({"keys": list(keys), "crc32": checksums}))
        except SeesayError:
            if self.must_keep or self._n_held + len(rows) > _HELD:
                raise
            self._n_held += len(rows)
            self._take_in(shard, rows, keys, checksums)
            return
        if self.shared is not None:
            for name in (f"{shard}.npy", f"{shard}.json"):
                remote.write(self.shared / name, (self.folder / name).read_bytes())
        self._open_shard(self.folder / f"{shard}.json")

    def read(self, keys: Sequence[str]) -> Array:
        """The rows of `keys`, in that order, copied out of the memory maps."""
        if absent := self.missing(keys):
            raise SeesayError(f"{len(absent)} of {len(keys)} entries are not in {self.folder}", hint="seesay features")
        places = [self._places[key] for key in keys]
        if not places:
            shape = next(iter(self._maps.values())).shape[1:] if self._maps else ()
            return np.zeros((0, *shape), np.float16)
        first = self._maps[places[0][0]]
        rows = np.empty((len(keys), *first.shape[1:]), np.float16)
        for position, (shard, row) in enumerate(places):
            rows[position] = self._maps[shard][row]
        return rows
