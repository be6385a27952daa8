"""The digests of weights, kept from one process to the next: a query should not have to read forty megabytes for them.

A digest that is kept counts only while the file has the same size, place on the disk and times. The time of the last
change of a file's status is set by the system alone, so that whatever writes to the file makes it another one.
"""

import json
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from seesay.errors import SeesayError
from seesay.system.digests import digest_file
from seesay.system.files import cache_dir, replace_atomically
from seesay.system.reading import parse_json, read_text

FILE = "digests.json"
_MOST = 200  # files whose digests are kept


def digest_of(path: Path, status: os.stat_result, part: str = "") -> str:
    """The sha256 of a file, or of a part of its tensors (`seesay.system.digests`), in hex.

    Raises:
        OSError: It cannot be read.
    """
    name = f"{path.resolve()}{f' {part}*' if part else ''}"
    mark = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]
    kept = _read()
    found = kept.get(name)
    if isinstance(found, dict) and found.get("mark") == mark and isinstance(found.get("sha256"), str):
        return str(found["sha256"])
    digest = digest_file(path, part)
    others = [(key, value) for key, value in kept.items() if key != name][1 - _MOST :]
    # A cache that cannot be written costs the next process a moment, and this one nothing.
    with suppress(SeesayError, OSError), replace_atomically(cache_dir() / FILE) as temporary:
        temporary.write_text(json.dumps({**dict(others), name: {"mark": mark, "sha256": digest}}))
    return digest


def _read() -> dict[str, object]:
    path = cache_dir() / FILE
    try:
        status = path.stat()
        return _read_once(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except (OSError, ValueError, RecursionError, SeesayError):
        return {}


@lru_cache(maxsize=1)
def _read_once(path: Path, changed: int, size: int, place: int) -> dict[str, object]:
    """A query asks for a dozen digests."""
    found = parse_json(read_text(path))
    return found if isinstance(found, dict) else {}
