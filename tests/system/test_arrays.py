import os
from pathlib import Path

import numpy as np
import pytest

from seesay.system.arrays import load_array


@pytest.mark.parametrize("mapped", [False, True])
def test_an_array_is_read(tmp_path: Path, mapped: bool) -> None:
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    assert load_array(tmp_path / "a.npy", mapped=mapped).tolist() == [[0, 1, 2], [3, 4, 5]]


def with_head(text: str) -> bytes:
    head = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(48)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"rubbish", with_head("{'descr': '<i8', ("), with_head("{'descr': '<i8', 'fortran_order': False}"),
        with_head("{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
        with_head("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}"), with_head("[" * 100), with_head("1 if"),
        b"PK\x05\x06" + bytes(18),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mapped", [False, True])
def test_what_is_no_array_is_one_kind_of_error(tmp_path: Path, content: bytes, mapped: bool) -> None:
    """NumPy tells of a damaged head by whatever error Python's own parser happens to meet."""
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        load_array(tmp_path / "a.npy", mapped=mapped)


def test_a_pipe_is_no_array(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(OSError, match="not a regular file"):
        load_array(tmp_path / "a.npy")
