"""Files in object storage: `s3://`, `gs://` and a few more that fsspec knows.

Inside seesay a remote file is a `RemotePath`, which only an address becomes that somebody has typed or that stands in a
library. Any other path is one of the disk, whatever it is called: a folder named `s3:` is a folder.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from seesay.errors import SeesayError

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss")
"""Kinds of storage that are read; nothing else ever opens a connection."""

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/")  # a single letter is a drive
_SECRET = re.compile(r":/+[^:/@]*:(.+)@")  # what stands between the name of a user and a host
_MOST_SAID = 200  # characters of what a storage has to say
if TYPE_CHECKING:
    _OnDisk = Path
else:
    _OnDisk = type(Path())  # Python 3.11 cannot derive from Path itself


class RemotePath(_OnDisk):
    """A path in object storage, as pathlib writes it: `s3://bucket/a.jpg` is `s3:/bucket/a.jpg`."""

    __slots__ = ()


class Entry(NamedTuple):
    """A file or a folder in object storage."""

    path: Path
    size: int
    mtime_ns: int
    is_folder: bool


class UnreachableError(SeesayError):
    """The storage does not answer or does not let us in; nothing can be said of the file itself."""


def is_remote(place: Path | str) -> bool:
    """Whether a path, or an address as it is typed, is one of object storage.

    Example:
        >>> is_remote("s3://bucket/photos"), is_remote(as_path("s3://bucket")), is_remote("/photos")
        (True, True, False)
        >>> is_remote("s3:/bucket"), is_remote(Path("s3:/bucket")), is_remote("http://example.org"), is_remote("file:///a")
        (False, False, False, False)
    """
    if isinstance(place, Path):
        return isinstance(place, RemotePath)
    return place.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def looks_like_address(place: Path | str) -> bool:
    """Whether a path or a text begins as addresses do; it may still be the name of a folder."""
    return _ADDRESS.match(str(place)) is not None


def as_path(place: Path | str) -> Path:
    """The path that stands for what somebody has typed: an address of object storage, of the disk, or a path.

    Raises:
        SeesayError: It is an address of another kind, and no file is called so.

    Example:
        >>> as_path("s3://bucket/photos"), as_path("file:///photos"), as_path("photos")
        (RemotePath('s3:/bucket/photos'), PosixPath('/photos'), PosixPath('photos'))
    """
    if isinstance(place, Path):
        return place
    if is_remote(place):
        return RemotePath(place)
    if place.startswith("file://"):
        return Path("/", place.removeprefix("file://").lstrip("/"))
    if looks_like_address(place) and "://" in place and not os.path.exists(place):  # noqa: PTH110 - takes any text
        scheme = place.partition(":")[0]
        raise SeesayError(
            f"cannot open {_said(place, place)}: {scheme}:// is no storage that seesay reads",
            allowed="a path, or an address of s3://, gs:// or file://",
        )
    return Path(place)


def stored_path(text: str) -> Path:
    """The path that stands in a library, where those of the disk are absolute.

    Example:
        >>> stored_path("/s3:/a.jpg"), stored_path("s3:/bucket/a.jpg"), stored_path("ftp:/host/a.jpg")
        (PosixPath('/s3:/a.jpg'), RemotePath('s3:/bucket/a.jpg'), PosixPath('ftp:/host/a.jpg'))
    """
    is_remote = not text.startswith("/") and text.startswith(tuple(f"{scheme}:/" for scheme in SCHEMES))
    return RemotePath(text) if is_remote else Path(text)


def as_url(path: Path | str) -> str:
    """A remote path as people write it; any other is left as it is.

    Example:
        >>> as_url(as_path("s3://bucket/a.jpg")), as_url("/photos/a.jpg")
        ('s3://bucket/a.jpg', '/photos/a.jpg')
    """
    text = str(path)
    if not isinstance(path, RemotePath):
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
        import textwrap

        why = textwrap.shorten(str(error), _MOST_SAID) or type(error).__name__
        raise UnreachableError(
            _said(path, f"cannot reach {as_url(path)}: {why}"),
            hint="check the address, the network and the credentials; the same command goes on where it was",
        ) from error


def _said(path: Path | str, text: str) -> str:
    """A text about a path, without the password that an address may hold.

    Example:
        >>> _said(as_path("s3://ada:secret@photos/a.jpg"), "cannot reach ada:secret@photos")
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
