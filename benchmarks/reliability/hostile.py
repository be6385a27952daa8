"""Every argument and option of every command, given hostile values.

The cases are generated from the command tree, so that a new option is attacked as soon as it exists. Each case runs in
a process of its own, forked from this one, with one of several terminals. It fails by a traceback, an exit code other
than 0, 1 and 2, more than ten seconds of a core or a minute in all, more than two gigabytes, a changed input file, a
connection, or characters that steer a terminal.

Stopped, or after `--minutes`, the same command goes on where it was: what is done stands in a file beside the record.
"""

import io
import json
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import time
import traceback
import zlib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.recording import parse_arguments, record
from benchmarks.reliability.inputs import FLOATS, INTEGERS, TEXTS, fingerprint, list_paths, make_inputs, prepare

SECONDS = 10  # of a core: on a machine that others use as well, a clock says little
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
NOWHERE = "no-such-weights"
SLOW = ("demo",)
"""Commands that compute whatever they are given: only in a whole run."""

_NUMBERS = ("N", "T", "SCORE", "SECONDS", "PIXELS")  # what options call their values


class Case(NamedTuple):
    """A command line."""

    command: str
    parameter: str
    arguments: tuple[str, ...]


class Outcome(NamedTuple):
    """How a command line ended; `fault` is empty where it ended well."""

    case: Case
    code: int
    seconds: float
    fault: str


def list_cases(folder: Path, given: dict[str, str], *, whole: bool = False) -> list[Case]:
    """Every parameter of every command with each of its hostile values.

    Args:
        folder: Of `make_inputs`.
        given: What `make_inputs` gave.
        whole: With weights, so that models are loaded and run; otherwise with the name of weights that do not exist.
    """
    import typer.main

    from seesay.cli.commands import app

    root: Any = typer.main.get_command(app)
    paths = list_paths(folder)
    cases = []
    for command, about in _commands(root, ()):
        if command[0] in SLOW and not whole:
            continue
        base = _valid(about, given, whole)
        for parameter in about.params:
            for value in _values(parameter, paths):
                cases.append(
                    Case(" ".join(command), str(parameter.name), (*command, *_line(about, base, parameter, value)))
                )
    return cases


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _values(parameter: Any, paths: list[str]) -> Sequence[str]:
    if getattr(parameter, "is_flag", False) or parameter.name in ("help", "browse", "ray"):
        return ()  # a flag takes no value; a browser and a cluster are no matter of values
    if parameter.metavar in _NUMBERS or isinstance(parameter.default, int | float):
        return (*INTEGERS, *FLOATS)
    return (*TEXTS, *paths)


def _valid(command: Any, given: dict[str, str], whole: bool) -> dict[str, list[str]]:
    """What is given to the other parameters: what a command needs, and weights."""
    answers = {
        "photo": [given["photo"]], "photos": [given["photo"]], "like": [], "sentence": ["a red photo"],
        "phrases": ["a red photo"], "things": [given["photo"], "a red photo"], "folders": [given["photos"]],
        "within": [given["photos"]], "data": [given["collection"]], "source": [given["collection"]],
        "weights": ["vse" if whole and command.name == "export" else NOWHERE], "recipe": [given["collection"]],
        "asked": ["dog"], "output": [], "port": ["0"],
    }  # fmt: skip
    base = {str(each.name): answers.get(str(each.name), [""]) for each in command.params if each.required}
    named = {str(each.name) for each in command.params}
    if command.name in ("search", "index"):
        base["things" if command.name == "search" else "folders"] = (
            ["a red photo", given["photos"]] if command.name == "search" else [given["photos"]]
        )
    if not whole:
        base |= {name: [NOWHERE] for name in ("model", "salience") if name in named}
    return base


def _line(command: Any, base: dict[str, list[str]], attacked: Any, value: str) -> list[str]:
    options: list[str] = []
    words: list[str] = []
    for parameter in command.params:
        values = [value] if parameter is attacked else base.get(str(parameter.name), [])
        for each in values:
            if parameter.param_type_name == "option":
                options.append(f"{max(parameter.opts, key=len)}={each}")
            else:
                words.append(each)
    return [*options, "--", *words] if words else options


def in_turn(cases: Sequence[Case]) -> list[Case]:
    """The first case of every command, then the second of every command, and so on: a short run meets them all."""
    seen: Counter[str] = Counter()
    rank = {}
    for case in cases:
        rank[case] = seen[case.command]
        seen[case.command] += 1
    return sorted(cases, key=lambda case: rank[case])


def run_case(case: Case, folder: Path, work: Path, seconds_allowed: float = SECONDS) -> Outcome:
    """Run a command line in a process of its own, and judge how it ended."""
    before = fingerprint(folder)
    start = time.monotonic()
    told = work / "told"
    told.unlink(missing_ok=True)
    terminal = TERMINALS[zlib.crc32(repr(case.arguments[1:]).encode("utf-8", "surrogatepass")) % len(TERMINALS)]
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (round(seconds_allowed), round(seconds_allowed) + 5))
        _be_attacked(case, work, told, terminal)
    code, memory = _wait(child, start + max(PATIENCE, seconds_allowed))
    seconds = time.monotonic() - start
    text = told.read_text(errors="replace") if told.exists() else ""
    fault = ""
    if code is None or code == -signal.SIGXCPU:
        fault = "hang"
    elif "Traceback (most recent call last)" in text:
        fault = "traceback: " + text.strip().splitlines()[-1][:200]
    elif "CONNECTED" in text:
        fault = "connection"
    elif code not in (0, 1, 2):
        fault = f"exit code {code}"
    elif any(sign in text for sign in ("\x1b]", "\x07")):
        fault = "steers the terminal"
    elif memory > MEMORY:
        fault = f"memory: {memory:,} bytes"
    elif is_changed(case, before, folder):
        fault = "an input was changed"
    return Outcome(case, -1 if code is None else code, seconds, fault)


def _wait(child: int, until: float) -> tuple[int | None, int]:
    """The exit code of a process, None where it had to be ended, and the most bytes that it has held."""
    while time.monotonic() < until:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), 1024 * used.ru_maxrss
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    _, _, used = os.wait4(child, 0)
    return None, 1024 * used.ru_maxrss


def _be_attacked(case: Case, work: Path, told: Path, terminal: dict[str, str]) -> None:
    """The child: the command line, with what it prints in a file, and no way out to the network."""
    code: Any = 70
    # As a terminal is: what it cannot show is an error, unless whoever prints has seen to that.
    printed = io.BytesIO()
    encoding = terminal.get("PYTHONIOENCODING", "utf-8")
    text = io.TextIOWrapper(printed, encoding, write_through=True)
    errors = io.TextIOWrapper(printed, encoding, errors="backslashreplace", write_through=True)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        os.chdir(work)
        os.environ |= {"SEESAY_LIBRARY": str(work / "library"), "SEESAY_CACHE": str(work / "cache"), "HOME": str(work)}
        os.environ |= terminal
        time.tzset()
        sys.stdin = io.StringIO("")
        socket.socket.connect = lambda self, address: _note_connection(self, address)  # type: ignore[method-assign]
        from seesay.cli.main import run
        from seesay.web import server

        server.serve = lambda *_, **__: None  # a server that starts is a success
        with redirect_stdout(text), redirect_stderr(errors):
            try:
                run([*case.arguments])
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1 if end.code else 0
            except BaseException:
                traceback.print_exc(file=errors)
    except BaseException:
        traceback.print_exc(file=errors)
    finally:
        with suppress(OSError):
            told.write_bytes(printed.getvalue())
        os._exit(code)


def _note_connection(_: object, address: object) -> None:
    if isinstance(address, tuple):
        print("CONNECTED", file=sys.stderr)
    raise OSError("there is no network here")


def is_changed(case: Case, before: dict[str, str], folder: Path) -> bool:
    """Whether a case has changed an input; a library may be begun in any folder that is named for it."""
    after = fingerprint(folder)
    if case.parameter == "library":
        files = {name for name in before if Path(os.fsdecode(bytes.fromhex(name))).is_file()}
        return any(before[name] != after.get(name) for name in files)
    return after != before


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, help="only so many, of all commands in turn")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a core, that a case may take")
    parser.add_argument("--whole", action="store_true", help="with the shipped weights, so that models run")
    arguments = parse_arguments(parser, "hostile")
    prepare()
    until = time.monotonic() + 60 * arguments.minutes
    done_file = arguments.output.with_suffix(".done.jsonl")
    with tempfile.TemporaryDirectory(prefix="seesay-hostile-") as root:
        folder, work = Path(root, "inputs"), Path(root, "work")
        work.mkdir()
        cases = list_cases(folder, make_inputs(folder), whole=arguments.whole)
        random.Random(arguments.seed).shuffle(cases)
        cases = in_turn(cases)[: arguments.cases]
        rows = [json.loads(line) for line in done_file.read_text().splitlines()] if done_file.exists() else []
        with done_file.open("a") as log:
            for case in cases[len(rows) :]:
                if time.monotonic() > until:
                    break
                found = run_case(case, folder, work, arguments.seconds)
                row: dict[str, Any] = {
                    "command": case.command,
                    "parameter": case.parameter,
                    "seconds": round(found.seconds, 2),
                    "code": found.code,
                    "fault": found.fault,
                    "line": [each[:200] for each in case.arguments] if found.fault else [],
                }
                rows.append({**row, "line": [each.replace(root, "") for each in row["line"]]})
                log.write(json.dumps(rows[-1]) + "\n")
                log.flush()
                if found.fault:
                    print(json.dumps(rows[-1])[:400])
    faults = [row for row in rows if row["fault"]]
    kinds = Counter(str(row["fault"]).partition(":")[0] for row in faults)
    record(
        arguments, ("typer", "pillow"),
        whole=arguments.whole, seed=arguments.seed,
        n_cases=len(cases), n_run=len(rows), minutes=round(sum(row["seconds"] for row in rows) / 60, 1),
        n_commands=len({row["command"] for row in rows}),
        codes=dict(sorted(Counter(str(row["code"]) for row in rows).items())), faults=dict(kinds), failing=faults,
    )  # fmt: skip
    if len(rows) == len(cases):
        done_file.unlink()


if __name__ == "__main__":
    main()
