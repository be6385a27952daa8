"""Where seesay keeps things on disk, and the one way it writes them."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seesay.errors import SeesayError
from seesay.system import remote


def cache_dir() -> Path:
    """The folder for everything that can be recomputed: `SEESAY_CACHE`, else the user's cache folder."""
    if chosen := os.environ.get("SEESAY_CACHE"):
        return Path(chosen).expanduser()
    import platformdirs

    own = platformdirs.user_cache_path("seesay", appauthor=False)
    return _own_folder("XDG_CACHE_HOME", "~/.cache", own)


def library_dir() -> Path:
    """The folder of the user's own library of photos."""
    import platformdirs

    own = platformdirs.user_data_path("seesay", appauthor=False)
    return _own_folder("XDG_DATA_HOME", "~/.local/share", own) / "library"


def _own_folder(variable: str, default: str, own: Path) -> Path:
    """The user's folder of a kind as the system has it; as the XDG standard has it, where that one exists."""
    standard = Path(os.environ.get(variable) or default).expanduser() / "seesay"
    return standard if standard.is_dir() else own.expanduser()


def features_place() -> Path | None:
    """Where features are kept (`SEESAY_FEATURES`), a folder or an address of object storage; None is the cache."""
    chosen = os.environ.get("SEESAY_FEATURES")
    return remote.as_path(chosen).expanduser() if chosen else None


def data_dir() -> Path | None:
    """The folder that holds named collections (`SEESAY_DATA`), or None where it is not set."""
    chosen = os.environ.get("SEESAY_DATA")
    return Path(chosen).expanduser() if chosen else None


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path` in one step.

    A reader, or a process killed in the middle, sees the old file or the new one and never half of one.

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
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
        temporary.open("xb").close()
    except OSError as error:
        raise SeesayError(
            f"cannot write {path}: {error.strerror or error}", hint="choose a folder that you may write to"
        ) from error
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def n_cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
