"""One at a time, over all processes: a lock file that says who holds it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seesay.errors import SeesayError
from seesay.system.reading import read_text

if TYPE_CHECKING:
    from filelock import BaseFileLock


class LockHeldError(SeesayError):
    """Somebody else holds the lock."""


@contextmanager
def hold_lock(path: Path, busy: str, *, hint: str) -> Iterator[None]:
    """Hold a lock file while the block runs; the system gives it back however the process ends.

    On a file system without locks, as some network ones are, a file that exists is the lock: one that a process left
    behind when it was killed is taken over, where the process was of this machine.

    Args:
        path: The file. Beside it, with the ending `.pid`, stands who holds it.
        busy: What to say where it is held.
        hint: What to do then.

    Raises:
        LockHeldError: Another process holds it, or another part of this one.
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with hold_lock(Path(folder) / "lock", "the library is being written", hint="wait"):
        ...         with hold_lock(Path(folder) / "lock", "the library is being written", hint="wait"):
        ...             pass
        Traceback (most recent call last):
        seesay.system.locks.LockHeldError: the library is being written (process ...)
          try: wait
    """
    from filelock import Timeout  # here and below: whoever only reads does not wait for its import

    # In a file of its own: not every version of filelock leaves what is in the lock file alone.
    holder = path.with_suffix(".pid")
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, f"{path.name} is not a regular file")
    try:
        lock = _acquire(path)
    except Timeout as error:
        raise LockHeldError(f"{busy} (process {_read(holder) or 'unknown'})", hint=hint) from error
    try:
        with suppress(OSError):  # a full disk: then nobody is told who it is
            holder.write_text(str(os.getpid()))
        yield
    finally:
        lock.release()


def _acquire(path: Path) -> "BaseFileLock":
    from filelock import FileLock, SoftFileLock, Timeout

    # Not by thread: a lock may be given back by another thread than the one that took it.
    lock: BaseFileLock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except (PermissionError, Timeout):
        raise
    except OSError:  # most likely of a file system that knows no locks; if not, the next line meets it again
        lock = SoftFileLock(path.with_suffix(".held"), timeout=0, thread_local=False)
        lock.acquire()
    return lock


def _read(holder: Path) -> str:
    try:
        return read_text(holder, 100)[:20].strip()
    except (OSError, UnicodeDecodeError):
        return ""
