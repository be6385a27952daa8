"""The judge of hostile command lines finds what it is there to find."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.reliability import attacked
from benchmarks.reliability.attacked import Attacks, is_computing, steering
from benchmarks.reliability.lines import Case
from seesay.cli import main


@pytest.fixture(scope="module")
def attacks(tmp_path_factory: pytest.TempPathFactory) -> Attacks:
    return Attacks(tmp_path_factory.mktemp("attacks"), seconds=2)


def burn() -> None:
    while True:
        pass


def connect() -> None:
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    except OSError:
        sys.exit(1)


def look_up() -> None:
    try:
        socket.getaddrinfo("example.org", 80)
    except OSError:
        sys.exit(1)


def change() -> None:
    Path("../inputs/photos/red.png").write_bytes(b"")


def add() -> None:
    Path("../inputs/photos/new.png").touch()


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise ValueError("a bug")


FAULTS: dict[Callable[[], object], str] = {
    burn: "hang", connect: "connection: socket.", look_up: "connection: socket.getaddrinfo",
    change: "an input was changed", add: "an input was changed", crash: "exit code -9",
    fail: "traceback: ValueError: a bug", lambda: sys.exit(3): "exit code 3",
    lambda: print("\x1b]0;title\x07"): "steers the terminal", lambda: print("a\u202egnp.exe"): "steers the terminal",
    lambda: print("well"): "", lambda: sys.exit("a sentence"): "",
}  # fmt: skip


@pytest.mark.parametrize("act", FAULTS, ids=lambda act: act.__name__)
def test_every_kind_of_fault_is_found(
    attacks: Attacks, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "run", lambda arguments: act())
    found = attacks.run(Case("doctor", "x", ("doctor", "--x=\udcff")))
    assert found.fault[: len(FAULTS[act]) or None] == FAULTS[act]


def test_memory_is_measured(attacks: Attacks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "run", lambda arguments: None)
    monkeypatch.setattr(attacked, "MEMORY", 2**20)
    assert attacks.run(Case("doctor", "x", ("doctor",))).fault.startswith("memory: ")


def test_what_computes_is_told_from_what_waits() -> None:
    """The clock ends only what waits: on a loaded machine a command that computes may be given no time for a minute."""
    for program, expected in (("while True: pass", True), ("import sys; sys.stdin.read()", False)):
        started = subprocess.Popen(
            [sys.executable, "-c", f"print(1, flush=True)\n{program}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert started.stdout is not None
        started.stdout.readline()
        found = [is_computing(started.pid)]
        for _ in range(200):  # it has said that it begins to, and not yet begun
            found.append(is_computing(started.pid))
            if found[-1] is expected:
                break
        started.kill()
        started.communicate()
        assert found[-1] is expected


def test_what_was_changed_is_put_back(attacks: Attacks, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(_: object) -> None:
        Path("../inputs/photos/red.png").unlink()
        Path("library/library.db").write_bytes(b"")

    size = (attacks.work / "library/library.db").stat().st_size
    monkeypatch.setattr(main, "run", act)
    assert attacks.run(Case("doctor", "library", ("doctor",))).fault == "an input was changed"
    assert (attacks.inputs / "photos/red.png").exists()
    assert (attacks.work / "library/library.db").stat().st_size == size


def test_a_fresh_process_is_judged_alike(attacks: Attacks) -> None:
    line = ("words", "--model=no-such-weights", "--", "\x1bdog")
    found = attacks.run(Case("words", "sentence", line), fresh=True)
    assert (found.code, found.fault) == (2, "")
    assert "no-such-weights" in attacks.printed.read_text() or "\\x1bdog" in attacks.printed.read_text()


def test_colours_steer_nothing() -> None:
    assert steering("\x1b[31mred\x1b[0m\n", coloured=True) == ""
    assert steering("\x1b[31mred\x1b[0m\n", coloured=False) == "\x1b"


def test_no_record_names_a_folder_of_the_machine(attacks: Attacks) -> None:
    assert attacks.shorten(f"caption {attacks.inputs}/photos") == "caption inputs/photos"
