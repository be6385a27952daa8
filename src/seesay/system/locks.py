"""One writer at a time, over all processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seesay.errors import SeesayError

try:
    import fcntl
except ImportError:  # a system without it: what is written is whole all the same, only perhaps computed twice
    fcntl = None  # type: ignore[assignment]


class LibraryBusyError(SeesayError):
    """Somebody else is writing."""


@contextmanager
def hold_lock(path: Path, what: str) -> Iterator[None]:
    """Hold a lock file while the block runs; the system gives it back however the process ends.

    Args:
        path: The file, which stays.
        what: What is locked, for the error.

    Raises:
        LibraryBusyError: Another process holds it, or another part of this one.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hold_lock(Path(folder) / "lock", "the library"):
        ...     with hold_lock(Path(folder) / "lock", "the library"):
        ...         pass
        Traceback (most recent call last):
        seesay.system.locks.LibraryBusyError: the library is being written by another seesay (process ...)
          try: wait until it has finished; searching works meanwhile
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise SeesayError(f"{what} may only be read: {error.strerror or error}") from error
    try:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
                raise LibraryBusyError(
                    f"{what} is being written by another seesay (process {holder})",
                    hint="wait until it has finished; searching works meanwhile",
                ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)
