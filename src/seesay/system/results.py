"""Where a person wants a result: checked before anything is computed, so that nothing of theirs is ever lost.

A result goes to a name that is free, or takes the place of an earlier result. Anything else that has the name stays,
unless the person says `--overwrite`; and what the same command reads stays even then.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from seesay.errors import SeesayError
from seesay.system.files import PARTIAL
from seesay.system.reading import open_regular

MARK = "made by seesay"
"""Stands in every file that is written where a person has chosen the name."""

_LIBRARY = "library.db"
_CAPTIONS = re.compile(rb'\[\{"image_id": (\d+|"[^"]*"), "caption": "')  # of COCO, which has no room for a mark
_NEAR = 64 * 1024  # bytes from either end of a file within which a mark stands


def check_result(path: Path, *, inputs: Iterable[Path | str] = (), overwrite: bool = False) -> None:
    """Refuse a name that a result must not take.

    Args:
        path: What will be written, by `seesay.system.files.replace_atomically`.
        inputs: What the same command reads: files, and folders that it looks through.
        overwrite: Whether a file that is no earlier result may be replaced.

    Raises:
        SeesayError: It is an input, a part of a library, a folder, a link, a pipe or a device, or a file that seesay
            has not made.

    Example:
        >>> check_result(Path("photo.jpg"), inputs=["./photo.jpg"])
        Traceback (most recent call last):
        seesay.errors.SeesayError: photo.jpg is what this command reads
          allowed: another name for the result
    """
    if not path.name:
        raise SeesayError(f"{str(path)!r} is no name for a file", allowed="a name such as result.png")
    if any(_is_read(path, given) for given in inputs):
        raise SeesayError(f"{path} is what this command reads", allowed="another name for the result")
    try:
        if (path.parent / _LIBRARY).exists():
            raise SeesayError(f"{path.parent} is the folder of a library", allowed="another folder for the result")
        status = path.lstat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # a name too long, a part of it that is a file, a null
        raise SeesayError(f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "no regular file")
        raise SeesayError(f"cannot write {path}: it is {kind}", allowed="a free name, or an earlier result")
    if not overwrite and not is_result(path):
        raise SeesayError(f"{path} is there already, and seesay has not made it", hint="another name, or --overwrite")


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_result_folder(
    folder: Path, *, holds: Sequence[str], begins: Sequence[str] = (), overwrite: bool = False
) -> None:
    """Refuse a folder that holds something else than an earlier result.

    Args:
        folder: Made where it is not there. Some name above it may be a link.
        holds: The names of files that an earlier result has there.
        begins: Those of files that may be there before them: one that was killed has left nothing else.
        overwrite: Whether files of the same names may be replaced.

    Raises:
        SeesayError: It cannot be written to, or what lies in it is somebody's.
    """
    try:
        nearest = next(place for place in (folder, *folder.parents, Path()) if place.exists())
        is_folder = nearest.is_dir()
        begun = {*holds, *begins}
        empty = nearest != folder or not is_folder
        empty = empty or all(entry.suffix == PARTIAL or entry.name in begun for entry in folder.iterdir())
    except (OSError, ValueError) as error:
        raise SeesayError(f"cannot write to {str(folder)!r}: {getattr(error, 'strerror', None) or error}") from error
    if not is_folder or not os.access(nearest, os.W_OK):
        why = "may not be written to" if is_folder else "is a file"
        raise SeesayError(f"cannot write to {folder}: {nearest} {why}", hint="-o with another folder")
    if not empty and not overwrite and not all((folder / name).is_file() for name in holds):
        raise SeesayError(
            f"{folder} holds other things than an earlier result", hint="-o with another folder, or --overwrite"
        )


def is_result(path: Path) -> bool:
    """Whether a regular file is one that seesay has written as a result."""
    try:
        with open_regular(path) as file:
            start = file.read(_NEAR) or b""  # files of /proc may have nothing to give yet
            file.seek(max(0, file.seek(0, os.SEEK_END) - _NEAR))
            end = file.read(_NEAR) or b""
    except OSError:
        return False
    return is_marked(start) or is_marked(end) or bool(_CAPTIONS.match(start)) or start.strip() == b"[]"


def is_marked(data: bytes) -> bool:
    """Whether the bytes of a file say that seesay has made it.

    Example:
        >>> is_marked(b"JFIF"), is_marked(MARK.encode())
        (False, True)
    """
    mark = MARK.encode()
    return mark in data[:_NEAR] or mark in data[-_NEAR:]


def _is_read(path: Path, given: Path | str) -> bool:
    """Whether a file is what was given, by whatever name, or lies in a folder that was given; results may lie there."""
    try:
        own, other = (os.path.realpath(each) for each in (path, given))
        if own == other or (os.path.exists(own) and os.path.exists(other) and os.path.samefile(own, other)):  # noqa: PTH110, PTH121
            return True
        below = own.startswith(other.rstrip("/") + "/") and os.path.isdir(other)  # noqa: PTH112
        return below and os.path.isfile(own) and not is_result(Path(own))  # noqa: PTH113
    except (OSError, ValueError):
        return False
