"""The one way to read a file that others may have made: regular files only, and no more than its kind can hold.

A pipe or a device may block for ever, or never end. Files are opened so that nothing blocks, judged by what was opened,
and read up to a limit whatever the size that the system tells.
"""

import errno
import io
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError
from seesay.system.ranges import INTEGER

PHOTO = 500_000_000
"""Bytes of a photo; none is larger."""
SETTINGS = 64_000_000
"""Bytes of a configuration, a vocabulary, a recipe or a list of patterns."""
COLLECTION = 2_000_000_000
"""Bytes of a file that holds the sentences of a collection: COCO's have 240 million."""

_NEVER_BLOCK = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: Path | str | bytes, at_most: int | None = None) -> io.BufferedReader:
    """Open a regular file to read its bytes.

    Args:
        path: A path of the disk; links are followed.
        at_most: Bytes that it may have.

    Raises:
        OSError: There is none, it may not be read, is something else than a regular file, or is too large.

    Example:
        >>> open_regular("/dev/zero")
        Traceback (most recent call last):
        OSError: [Errno 22] not a regular file: '/dev/zero'
    """
    try:
        handle = os.open(path, _NEVER_BLOCK)
    except ValueError as error:  # a null in the name
        raise OSError(errno.EINVAL, str(error), os.fspath(path)) from error
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        if at_most is not None and status.st_size > at_most:
            raise _too_large(path, at_most)
        return io.BufferedReader(io.FileIO(handle, "rb"))
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path | str | bytes, at_most: int) -> bytes:
    """The bytes of a regular file; as `open_regular`, and no more is read than allowed, whatever the system says.

    Files of /proc have no size and may never end, or block: that is an error too.
    """
    with open_regular(path, at_most) as file:
        data = file.read(at_most + 1)
    if data is None:
        raise OSError(errno.EAGAIN, "it holds nothing that can be read", os.fspath(path))
    if len(data) > at_most:
        raise _too_large(path, at_most)
    return data


def read_text(path: Path | str, at_most: int = SETTINGS) -> str:
    """The UTF-8 text of a regular file.

    Raises:
        OSError: It cannot be read.
        UnicodeDecodeError: It is no such text.
    """
    return read_regular(path, at_most).decode("utf-8")


def require_regular(path: Path | str) -> None:
    """Make sure that others' code, which opens by name, will meet a regular file.

    Raises:
        OSError: It will not.
    """
    open_regular(path).close()


def parse_json(text: str | bytes, **options: Any) -> Any:
    """What a JSON text holds.

    Raises:
        ValueError: It is none, is nested too deeply, or has a number that is too large for a float.

    Example:
        >>> parse_json("[" * 100_000)
        Traceback (most recent call last):
        ValueError: it is nested too deeply
        >>> parse_json("[12, 1000000000000000019884624838656]")
        [12, 1e+30]
    """
    try:
        return json.loads(text, parse_int=_read_integer, **options)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_json(path: Path, hint: str | None = None) -> Any:
    """What a JSON file holds.

    Raises:
        SeesayError: It cannot be read, or is not JSON; with the hint that is given.
    """
    try:
        return parse_json(read_text(path))
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}", hint=hint) from error
    except ValueError as error:
        raise SeesayError(f"{path} is not JSON: {error}", hint=hint) from error


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text holds.

    Raises:
        ValueError: It is none, is nested too deeply, or has a whole number of more than 64 bits.
    """
    import tomllib

    try:
        found = tomllib.loads(text)
        _refuse_large(found)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return found


def _read_integer(digits: str) -> int | float:
    """A whole number that 64 bits hold, or else a float: no tensor and no database takes a larger one.

    `transformers` writes 10^30 where it means that a sentence may be as long as it likes.
    """
    if len(digits) <= 20 and abs(int(digits)) <= INTEGER:
        return int(digits)
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"a whole number has {len(digits.lstrip('-'))} digits")
    return number


def _refuse_large(value: object) -> None:
    """TOML's reader takes numbers of any length, of which neither a float nor a text can be made."""
    if isinstance(value, int) and abs(value) > INTEGER:
        raise ValueError("a whole number is larger than 64 bits hold")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _refuse_large(item)


def _too_large(path: Path | str | bytes, at_most: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {at_most:,} bytes", os.fspath(path))
