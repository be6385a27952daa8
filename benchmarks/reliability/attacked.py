"""A command line in a process of its own, and a judgement of how it ended.

Most processes are forked from this one, which has imported what commands import: whatever a child had to import besides
is imported here for those after it. Others are started afresh, as a shell does. Each has limits of its own, a terminal
of some kind, and a folder with a library of three photos; what it is given to read is put back when it was changed.
"""

import gc
import json
import os
import re
import resource
import runpy
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
import unicodedata
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import typer.main

from benchmarks.reliability.inputs import fingerprint, make_inputs
from benchmarks.reliability.lines import Case

SECONDS = 10.0  # of a core: on a machine that others use as well, a clock says little
PATIENCE = 60.0  # seconds in all, for what waits and does not compute
MEMORY = 2 * 2**30
ADDRESSES = 8 * 2**30  # which torch and its libraries take much of without using them
TERMINALS: tuple[dict[str, str], ...] = (
    {"COLUMNS": "100", "TERM": "dumb"},
    {"COLUMNS": "20", "TERM": "xterm-256color", "FORCE_COLOR": "1"},
    {"COLUMNS": "1", "NO_COLOR": "1", "TERM": ""},
    {"COLUMNS": "100000", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"},
    {"COLUMNS": "none", "TZ": "../../../etc/passwd", "PYTHONIOENCODING": "ascii"},
)
"""Environments that a case may meet."""

_COLOURS = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|\r")  # and progress bars
_CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
_STAYS_OUT = ("ray", "spacy", "thinc", "torch")  # begin threads, or take more memory than all the rest


class Outcome(NamedTuple):
    """How a command line ended; `fault` is empty where it ended well."""

    case: Case
    code: int
    seconds: float
    fault: str


class Attacks:
    """Runs command lines in processes of their own.

    Args:
        root: An empty folder, which gets the inputs, the folder that commands run in, and what they print.
        seconds: Of a core, that a case may take.
    """

    def __init__(self, root: Path, seconds: float = SECONDS) -> None:
        typer.main.get_command = cache(typer.main.get_command)  # the tree is the same for all children
        self.root, self.seconds = root, seconds
        self.inputs, self.work, self.kept = root / "inputs", root / "work", root / "kept"
        self.printed, self.noted, self.imported = root / "printed", root / "noted", root / "imported"
        self._make_inputs()
        self._make_library()
        self._make_work()

    def run(self, case: Case, *, fresh: bool = False) -> Outcome:
        """Run a command line, forked or `fresh`, and judge how it ended."""
        for file in (self.printed, self.noted, self.imported):
            file.write_bytes(b"")
        terminal = TERMINALS[zlib.crc32(self.shorten(repr(case.arguments)).encode()) % len(TERMINALS)]
        start = time.monotonic()
        child = os.fork()
        if child == 0:
            self._be_attacked(case, terminal, fresh)
        code, memory = _wait(child, max(PATIENCE, self.seconds))
        seconds = time.monotonic() - start
        after = fingerprint(self.inputs)
        fault = self._judge(case, code, memory, "FORCE_COLOR" in terminal) or (
            "an input was changed" if is_changed(case, self.before, after) else ""
        )
        if after != self.before:
            self._make_inputs()
        if fingerprint(self.work) != self.work_before:
            self._make_work()
        self._import_alike()
        return Outcome(case, -1 if code is None else code, seconds, fault)

    def shorten(self, text: str) -> str:
        """A text without the place of this run in it."""
        return text.replace(f"{self.root}/", "").replace(str(self.root), ".")

    def _judge(self, case: Case, code: int | None, memory: int, coloured: bool) -> str:
        printed = self.printed.read_bytes().decode("utf-8", "replace")
        if code is None or code == -signal.SIGXCPU:
            return "hang"
        if "Traceback (most recent call last)" in printed:
            return self.shorten("traceback: " + printed.strip().splitlines()[-1][:200])
        if self.noted.stat().st_size:
            return "connection: " + self.noted.read_text(errors="replace").splitlines()[0][:200]
        if code not in (0, 1, 2):
            return f"exit code {code}"
        if sign := steering(printed, coloured=coloured):
            return f"steers the terminal: {sign!a}"
        return f"memory: {memory:,} bytes" if memory > MEMORY else ""

    def _be_attacked(self, case: Case, terminal: dict[str, str], fresh: bool) -> None:
        """The child: never returns."""
        code: Any = 70
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (round(self.seconds), round(self.seconds) + 5))
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
            os.chdir(self.work)
            own = {"SEESAY_LIBRARY": str(self.work / "library"), "SEESAY_CACHE": str(self.work / "cache")}
            os.environ |= {**own, "HOME": str(self.work), "SEESAY_NOTED": str(self.noted), **terminal}
            time.tzset()
            place = os.open(self.printed, os.O_WRONLY | os.O_APPEND)
            for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, place), (2, place)):
                os.dup2(source, number)
            if fresh:
                os.environ["PYTHONPATH"] = os.pathsep.join(path or "." for path in sys.path)
                line = [sys.executable, "-m", "benchmarks.reliability.attacked", *case.arguments]
                os.execv(sys.executable, [os.fsencode(word) for word in line])
            sys.stdin, sys.stdout, sys.stderr = _streams(terminal.get("PYTHONIOENCODING", "utf-8"))
            known = set(sys.modules)
            code = _call(case.arguments)
            self.imported.write_text(json.dumps([name for name in sys.modules if name not in known]))
        except BaseException:
            with suppress(BaseException):
                traceback.print_exc()
        finally:
            with suppress(BaseException):
                sys.stdout.flush()
            os._exit(code)

    def _import_alike(self) -> None:
        """Import what the last child had to import."""
        names = [name for name in json.loads(self.imported.read_text() or "[]") if name not in sys.modules]
        for name in names:
            if name.partition(".")[0] not in _STAYS_OUT:
                with suppress(ImportError):
                    import_module(name)
        if names:  # what is frozen is not written to by a child's garbage collection, and stays shared
            gc.collect()
            gc.freeze()

    def _make_library(self) -> None:
        """A library that every case begins with."""
        program = (
            "import sys; from seesay.library.library import Library\n"
            "with Library(sys.argv[1]) as library:\n    library.index(sys.argv[2])"
        )
        # A process of its own: networks have threads, which no child may be forked beside, nor they in a fork.
        line = [sys.executable, "-c", program, str(self.kept / "library"), str(self.inputs / "photos")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
        if subprocess.run(line, env=environment, check=False).returncode:
            raise SystemExit("there is no library to begin with")

    def _make_inputs(self) -> None:
        shutil.rmtree(self.inputs, ignore_errors=True)
        self.given = make_inputs(self.inputs)
        self.before = fingerprint(self.inputs)

    def _make_work(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.kept, self.work)
        self.work_before = fingerprint(self.work)


def _streams(encoding: str) -> tuple[TextIO, TextIO, TextIO]:
    """Streams as Python opens them."""
    return (
        open(0, encoding=encoding, closefd=False),
        open(1, "w", encoding=encoding, closefd=False),
        open(2, "w", buffering=1, encoding=encoding, errors="backslashreplace", closefd=False),
    )


def _wait(child: int, seconds: float) -> tuple[int | None, int]:
    """The exit code of a process, None where it had to be ended, and the most bytes that it has held."""
    watched = os.pidfd_open(child)
    while not (in_time := bool(select.select([watched], [], [], seconds)[0])) and is_computing(child):
        pass  # on a machine that others use as well: the limit of its processor time ends it
    # What has ended while this process was stopped itself has ended in time.
    in_time = in_time or bool(select.select([watched], [], [], 0)[0])
    os.close(watched)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # with all that it has started
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status) if in_time else None, 1024 * used.ru_maxrss


def is_computing(session: int) -> bool:
    """Whether a process of a session waits for nothing but a processor or a disk."""
    for status in Path("/proc").glob("[0-9]*/task/*/stat"):
        with suppress(OSError):  # it has ended
            state, _, _, own, *_ = status.read_text().rpartition(")")[2].split()
            if int(own) == session and state in "RD":
                return True
    return False


def _call(arguments: tuple[str, ...], begin: Callable[[], object] | None = None) -> int:
    """Run a command line in this process, with no way out to the network; gives its exit code."""
    sys.addaudithook(_note_connection)
    if arguments[:1] == ("serve",):
        from seesay.web import server

        server.serve = lambda *_, **__: None  # a server that starts is a success
    try:
        if begin is None:
            from seesay.cli.main import run

            run([*arguments])
        else:
            begin()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1 if end.code else 0
    return 0


def _note_connection(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _CONNECTIONS or (event != "socket.getaddrinfo" and not isinstance(arguments[-1], tuple)):
        return
    with open(os.environ["SEESAY_NOTED"], "a") as file:  # noqa: PTH123
        file.write(f"{event} {arguments[-1] if event == 'socket.connect' else arguments[:2]}\n")
    raise OSError("there is no network here")


def steering(text: str, *, coloured: bool) -> str:
    """The first character of a text that would steer a terminal, or turn what it shows around.

    Where there are colours and progress bars, theirs are left out.
    """
    text = _COLOURS.sub("", text) if coloured else text
    return next((char for char in text if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf")), "")


def is_changed(case: Case, before: dict[str, str], after: dict[str, str]) -> bool:
    """Whether a case has changed an input; a library may be begun in any folder that is named for it."""
    if case.parameter == "library":
        return any(after.get(name) != digest for name, digest in before.items() if not digest.startswith("d"))
    return after != before


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.argv[0] = "seesay"
    sys.exit(_call((*given,), lambda: runpy.run_module("seesay", run_name="__main__")))
