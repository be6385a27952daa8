"""Memory that is free is given back."""

import ctypes
import platform
import re
from pathlib import Path

import pytest

from seesay.system.memory import give_back_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep less")
def test_what_is_free_goes_back_to_the_system() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    blocks = [libc.malloc(100_000) for _ in range(500)]  # each too small to be mapped alone
    for block in blocks:
        ctypes.memset(block, 1, 100_000)
    for block in blocks[:-1]:  # the last holds the end of the heap, so that the others stay
        libc.free(block)
    before = _held()
    assert give_back_memory()
    assert before - _held() > 25_000
    libc.free(blocks[-1])


def _held() -> int:
    """Kilobytes of this process."""
    found = re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1])
