"""Specification of the feature store on disk."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.images.store import RowStore


def _rows(*values: float) -> np.ndarray:
    return np.array([[value, -value] for value in values], np.float16)


def test_rows_come_back_in_the_order_asked_for(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.write(["a", "b"], _rows(1, 2))
    store.write(["c"], _rows(3))
    assert RowStore(tmp_path).read(["c", "a", "b", "a"])[:, 0].tolist() == [3, 1, 2, 1]


def test_missing_names_each_absent_key_once(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.write(["a"], _rows(1))
    assert store.missing(["b", "a", "b", "c"]) == ["b", "c"]


def test_reading_an_absent_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="1 of 1 entries are not in"):
        RowStore(tmp_path).read(["a"])


def test_a_damaged_row_is_missing_and_its_neighbours_are_not(tmp_path: Path) -> None:
    RowStore(tmp_path).write(["a", "b"], _rows(1, 2))
    shard = next(tmp_path.glob("*.npy"))
    content = bytearray(shard.read_bytes())
    content[-1] ^= 0xFF  # in the last row
    shard.write_bytes(content)
    store = RowStore(tmp_path)
    assert store.missing(["a", "b"]) == ["b"]
    store.write(["b"], _rows(2))
    assert store.read(["b"])[0, 0] == 2
    assert RowStore(tmp_path).missing(["a", "b"]) == []


@pytest.mark.parametrize(
    "damage",
    [
        "truncated array",
        "empty array",
        "index is no JSON",
        "index of another length",
        "keys of another kind",
        "array gone",
    ],
)
def test_a_damaged_shard_counts_as_absent(tmp_path: Path, damage: str) -> None:
    RowStore(tmp_path).write(["a", "b"], _rows(1, 2))
    array, index = next(tmp_path.glob("*.npy")), next(tmp_path.glob("*.json"))
    if damage == "truncated array":
        array.write_bytes(array.read_bytes()[:-3])
    elif damage == "empty array":
        array.write_bytes(b"")
    elif damage == "index is no JSON":
        index.write_text("{")
    elif damage == "index of another length":
        index.write_text(json.dumps({"keys": ["a"], "crc32": [0]}))
    elif damage == "keys of another kind":
        index.write_text(json.dumps({"keys": [["a"], {"b": 1}], "crc32": [0, 0]}))
    else:
        array.unlink()
    assert RowStore(tmp_path).missing(["a", "b"]) == ["a", "b"]


def test_an_array_without_its_index_does_not_count(tmp_path: Path) -> None:
    """A writer killed between the two files leaves this."""
    RowStore(tmp_path).write(["a"], _rows(1))
    next(tmp_path.glob("*.json")).unlink()
    store = RowStore(tmp_path)
    assert store.missing(["a"]) == ["a"]
    store.write(["a"], _rows(5))
    assert store.read(["a"])[0, 0] == 5


def test_rows_of_another_shape_are_refused(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.write(["a"], _rows(1))
    with pytest.raises(SeesayError, match="do not fit"):
        store.write(["b"], np.zeros((1, 3), np.float16))


def test_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "evil.npy", np.array([print], object), allow_pickle=True)
    (tmp_path / "evil.json").write_text(json.dumps({"keys": ["a"], "crc32": [0]}))
    assert RowStore(tmp_path).missing(["a"]) == ["a"]


WRITER = """
import sys
from pathlib import Path
import numpy as np
from seesay.images.store import RowStore
store = RowStore(Path(sys.argv[1]))
for start in range(0, 40, 4):
    values = range(start, start + 4)
    store.write([f"key{value}" for value in values], np.array([[value, -value] for value in values], np.float16))
"""


def test_two_processes_may_write_the_same_rows_at_once(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    keys = [f"key{value}" for value in range(40)]
    assert RowStore(tmp_path).read(keys)[:, 0].tolist() == list(range(40))


def test_a_reader_sees_what_others_wrote_since_it_opened(tmp_path: Path) -> None:
    reader = RowStore(tmp_path)
    RowStore(tmp_path).write(["a"], _rows(7))
    reader.refresh()
    assert reader.read(["a"])[0, 0] == 7
