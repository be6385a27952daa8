"""Where seesay keeps things on disk, and the one way it writes them."""

import errno
import glob
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seesay.errors import SeesayError
from seesay.system import remote

PARTIAL = ".partial"
"""How the names of files end that are being written."""
_ABANDONED = 3600.0  # seconds after which a partial file belongs to nobody


def cache_dir() -> Path:
    """The folder for everything that can be recomputed: `SEESAY_CACHE`, else the user's cache folder."""
    if chosen := os.environ.get("SEESAY_CACHE"):
        return chosen_place(chosen)
    return _own_folder("XDG_CACHE_HOME", "~/.cache", "user_cache_path")


def library_dir() -> Path:
    """The folder of the user's own library of photos."""
    return _own_folder("XDG_DATA_HOME", "~/.local/share", "user_data_path") / "library"


def models_dir() -> Path:
    """The folder of the models that the user has added: `SEESAY_MODELS`, else in the user's data folder."""
    if chosen := os.environ.get("SEESAY_MODELS"):
        return chosen_place(chosen)
    return library_dir().parent / "models"


def _own_folder(variable: str, default: str, kind: str) -> Path:
    """The user's folder of a kind as the system has it; as the XDG standard has it, where that one exists.

    Args:
        kind: The function of `platformdirs` that knows.
    """
    standard = chosen_place(os.environ.get(variable) or default) / "seesay"
    if sys.platform == "linux" or standard.is_dir():
        return standard
    import platformdirs

    own: Path = getattr(platformdirs, kind)("seesay", appauthor=False)
    return expand_home(own)


def expand_home(path: Path | str) -> Path:
    """A path with the home folder in place of `~`; one that begins with the name of nobody stays as it is.

    Example:
        >>> expand_home("~there is no such user/photos")
        PosixPath('~there is no such user/photos')
    """
    if not str(path).startswith("~"):
        return Path(path) if isinstance(path, str) else path  # which may be one of object storage
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib's raises a RuntimeError of its own


def chosen_place(path: Path | str) -> Path:
    """A place that somebody has chosen to keep things in, where a folder is made if there is none.

    Raises:
        SeesayError: It begins with the home folder of nobody: one of that name would be made where the process runs.
    """
    place = expand_home(path)
    if str(place).startswith("~"):
        raise SeesayError(
            f"there is no home folder for {str(path)[:80]!r}", allowed="an absolute path", hint="set HOME"
        )
    return place


def features_place() -> Path | None:
    """Where features are kept (`SEESAY_FEATURES`), a folder or an address of object storage; None is the cache."""
    chosen = os.environ.get("SEESAY_FEATURES")
    return chosen_place(remote.as_path(chosen)) if chosen else None


def data_dir() -> Path | None:
    """The folder that holds named collections (`SEESAY_DATA`), or None where it is not set."""
    chosen = os.environ.get("SEESAY_DATA")
    return expand_home(chosen) if chosen else None


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path` in one step.

    A reader, or a process killed in the middle, sees the old file or the new one and never half of one.

    Raises:
        SeesayError: It cannot be written: no room, no right to, or something else of that name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     target = Path(folder) / "report.json"
        ...     with replace_atomically(target) as temporary:
        ...         _ = temporary.write_text("{}")
        ...     target.read_text(), [entry.name for entry in Path(folder).iterdir()]
        ('{}', ['report.json'])
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _name_partial(path)
        temporary.open("xb").close()
    except (OSError, ValueError) as error:  # a path without a name, or with a null in it, is a ValueError
        raise cannot_write(path, error, "choose a folder that you may write to") from error
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def prepare_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside `target`, in which a folder is made that is then renamed to it.

    What is left of it is removed: by this process, or, where that was killed, by the next that makes the same folder.

    Raises:
        SeesayError: It cannot be made: no room, or no right to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     target = Path(folder) / "weights"
        ...     with prepare_folder(target) as scratch:
        ...         (scratch / "made").mkdir()
        ...         _ = (scratch / "made").rename(target)
        ...     [entry.name for entry in Path(folder).iterdir()]
        ['weights']
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = _name_partial(target)
        scratch.mkdir()
    except (OSError, ValueError) as error:
        raise cannot_write(target, error, "choose a folder that you may write to") from error
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def cannot_write(path: Path, error: Exception, hint: str | None = None) -> SeesayError:
    """What to say of a file that cannot be written: one sentence, whatever the reason."""
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = getattr(error, "strerror", None) or str(error)
    return SeesayError(f"cannot write {path}: {why.lower()}", hint="make room on the disk" if is_full else hint)


def _writer() -> str:
    """This machine, in a few letters."""
    import socket

    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _name_partial(path: Path) -> Path:
    """A name for what is to become a file or folder, once what killed writers of it have left is removed."""
    _remove_abandoned_of(path)
    return path.with_name(f".{path.name}.{_writer()}-{os.getpid()}-{os.urandom(4).hex()}{PARTIAL}")


def _remove_abandoned_of(path: Path) -> None:
    """Remove what writers have left behind that were killed; those of other machines may still be at it."""
    start = f".{path.name}.{_writer()}-"
    for left in path.parent.glob(f"{glob.escape(start)}*{PARTIAL}"):
        number = left.name.removeprefix(start).partition("-")[0]
        with suppress(OSError):  # another process tidies up as well
            if number.isdecimal() and not _is_running(int(number)):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _is_running(process: int) -> bool:
    if os.name == "nt":  # where asking for a process would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's, or no number of a process
        return True
    return True


def remove_abandoned(folder: Path, pattern: str = f".*{PARTIAL}", *, after: float = _ABANDONED) -> None:
    """Remove what killed writers have left in a folder; what is younger, in seconds, may still be being written."""
    for path in folder.glob(pattern):
        with suppress(OSError):  # another process tidies up as well
            if time.time() - path.lstat().st_mtime >= after:
                path.unlink()


def n_cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
