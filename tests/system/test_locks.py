"""A lock that one process at a time holds."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seesay.system.locks import LockHeldError, hold_lock

HOLD = """
import sys
from pathlib import Path
from seesay.system.locks import hold_lock
with hold_lock(Path(sys.argv[1]), "it is held", hint="wait"):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_who_holds_it_is_named_however_often_one_asks(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold(path) as process:
        for _ in range(2):
            with pytest.raises(LockHeldError, match=rf"it is held \(process {process.pid}\)\n  try: wait"):  # noqa: SIM117
                with hold_lock(path, "it is held", hint="wait"):
                    pass
        process.communicate("")
    with hold_lock(path, "it is held", hint="wait"):
        assert (tmp_path / "lock.pid").read_text() == str(os.getpid())


def test_a_process_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with hold(tmp_path / "lock") as process:
        process.kill()
        process.wait()
    with hold_lock(tmp_path / "lock", "it is held", hint="wait"):
        pass


def test_a_folder_that_may_not_be_written_to_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), hold_lock(tmp_path / "file" / "lock", "it is held", hint="wait"):
        pass


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP])
@pytest.mark.filterwarnings("ignore:flock not supported")
def test_a_file_system_without_locks_is_locked_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refuse)
    with hold_lock(tmp_path / "lock", "it is held", hint="wait"):  # noqa: SIM117
        with pytest.raises(LockHeldError, match=rf"process {os.getpid()}"):
            with hold_lock(tmp_path / "lock", "it is held", hint="wait"):
                pass
    with hold_lock(tmp_path / "lock", "it is held", hint="wait"):
        pass
