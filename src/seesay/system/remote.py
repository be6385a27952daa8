"""Files in object storage: `s3://`, `gs://` and whatever else fsspec knows.

Inside seesay a remote file is a path like any other, in the form that pathlib gives to an address: `s3://bucket/a.jpg`
is `s3:/bucket/a.jpg`, which no absolute path of a disk is. `file://` is a path of the disk.
"""

import os
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from seesay.errors import SeesayError

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/")  # a single letter is a drive
_SECRET = re.compile(r":/+[^:/@]*:(.+)@")  # what stands between the name of a user and a host
_MOST_SAID = 200  # characters of what a storage has to say


class Entry(NamedTuple):
    """A file or a folder in object storage."""

    path: Path
    size: int
    mtime_ns: int
    is_folder: bool


class UnreachableError(SeesayError):
    """The storage does not answer or does not let us in; nothing can be said of the file itself."""


def is_remote(path: Path | str) -> bool:
    """Whether a path or an address is one of object storage.

    Example:
        >>> is_remote("s3://bucket/photos"), is_remote(Path("s3://bucket")), is_remote("/photos"), is_remote("file:///a")
        (True, True, False, False)
    """
    found = _SCHEME.match(str(path))
    return found is not None and found[1] != "file"


def as_path(place: Path | str) -> Path:
    """The path that stands for an address; any other path is left as it is.

    Example:
        >>> as_path("s3://bucket/photos"), as_path("file:///photos"), as_path("photos")
        (PosixPath('s3:/bucket/photos'), PosixPath('/photos'), PosixPath('photos'))
    """
    path = Path(place)
    return Path("/", *path.parts[1:]) if path.parts[:1] == ("file:",) else path


def as_url(path: Path | str) -> str:
    """A remote path as people write it; any other is left as it is.

    Example:
        >>> as_url(Path("s3:/bucket/a.jpg")), as_url("/photos/a.jpg")
        ('s3://bucket/a.jpg', '/photos/a.jpg')
    """
    text = str(path)
    if not is_remote(path):
        return text
    scheme, _, rest = text.partition(":")
    return f"{scheme}://{rest.lstrip('/')}"


def list_folder(folder: Path, *, recursive: bool = False) -> Iterator[Entry]:
    """What lies in a remote folder, or anywhere below it: files alone then.

    Raises:
        SeesayError: There is no such folder.
        UnreachableError: The storage does not answer.
    """
    with _errors(folder):
        system, place = _open(folder)
        system.invalidate_cache()
        if recursive:
            found = system.find(place, detail=True).values()
            if not found and not system.exists(place):
                raise FileNotFoundError(place)
        else:
            found = system.ls(place, detail=True)
    for info in found:
        path = folder / os.path.relpath(info["name"], system._strip_protocol(place))
        if path != folder:  # S3 lists the folder itself where somebody has made one
            yield Entry(path, int(info.get("size") or 0), _mtime_ns(info), info.get("type") == "directory")


def exists(path: Path) -> bool:
    """Whether a remote file or folder is there."""
    with _errors(path):
        system, place = _open(path)
        return bool(system.exists(place))


def read(path: Path) -> bytes:
    """The bytes of a remote file.

    Raises:
        SeesayError: There is no such file.
        UnreachableError: The storage does not answer.
    """
    with _errors(path):
        system, place = _open(path)
        return bytes(system.cat_file(place))


def write(path: Path, data: bytes) -> None:
    """Put a remote file in place, whole or not at all, as object storage does."""
    with _errors(path):
        system, place = _open(path)
        system.pipe_file(place, data)


def _open(path: Path) -> tuple[Any, str]:
    """The file system of a path, and what it calls it."""
    scheme = str(path).partition(":")[0]
    try:
        import fsspec

        system, place = fsspec.core.url_to_fs(as_url(path))
    except ImportError as error:
        raise SeesayError(f"{scheme}:// needs more packages: {error}", hint="pip install 'seesay[cloud]'") from error
    except ValueError as error:
        raise SeesayError(
            _said(path, f"cannot open {as_url(path)}: {error}"), allowed="s3://, gs:// or file://"
        ) from None
    return system, place


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except SeesayError:
        raise
    except FileNotFoundError as error:
        raise SeesayError(_said(path, f"cannot open {as_url(path)}: no such file or folder")) from error
    except Exception as error:  # every storage has exceptions of its own
        why = textwrap.shorten(str(error), _MOST_SAID) or type(error).__name__
        raise UnreachableError(
            _said(path, f"cannot reach {as_url(path)}: {why}"),
            hint="check the address, the network and the credentials; the same command goes on where it was",
        ) from error


def _said(path: Path, text: str) -> str:
    """A text about a path, without the password that an address may hold.

    Example:
        >>> _said(Path("s3://ada:secret@photos/a.jpg"), "cannot reach ada:secret@photos")
        'cannot reach ada:***@photos'
    """
    found = _SECRET.search(str(path))
    return text.replace(found[1], "***") if found else text


def _mtime_ns(info: dict[str, Any]) -> int:
    """When a file was last changed, whatever the storage calls that."""
    for name in ("LastModified", "mtime", "updated", "last_modified", "created"):
        found = info.get(name)
        if isinstance(found, str):
            found = datetime.fromisoformat(found)
        if isinstance(found, datetime):
            return int(found.timestamp()) * 10**9 + found.microsecond * 1000
        if found:
            return int(float(found) * 10**9)
    return 0
