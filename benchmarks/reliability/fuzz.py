"""Search for bytes that a reader neither understands nor refuses in a sentence.

Each target (`benchmarks.reliability.targets`) has a corpus of files that are right; a case is one of them, changed. A
`SeesayError` is an answer; any other exception is a finding, a case of more than ten seconds of a core or a minute in
all is a hang, and the end of the process is a crash. `atheris` looks for changes that reach code which no case has
reached (`--changes guided`, `benchmarks.reliability.guided`); without it changes are drawn at random. The record tells
how many cases were read without an error, and how many places of the code were reached: a search that is refused at the
first check shows nothing.

Records accumulate: `--minutes 5` adds five minutes of a core to each target, with the seed that was next. `--again`
tries once more what was found.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.recording import parse_arguments, record
from benchmarks.reliability import served
from benchmarks.reliability.changes import change
from benchmarks.reliability.in_memory import in_memory
from benchmarks.reliability.targets import TARGETS, Read
from seesay.errors import SeesayError

SECONDS = 10.0  # of a core: on a machine that others use as well, a clock says little
PATIENCE = 60.0  # seconds in all, for what waits and does not compute
_WORST = 20  # findings of a target that are kept


def attempt(read: Read, content: bytes, folder: Path) -> str:
    """What is wrong with how a reader takes some bytes; empty where nothing is."""
    start, busy = time.monotonic(), time.process_time()
    try:
        read(content, folder)
    except SeesayError:
        pass
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of code in Rust is no Exception
        return f"{type(error).__name__}: {error}"[:200]
    is_slow = time.process_time() - busy > SECONDS or (start > _paused and time.monotonic() - start > PATIENCE)
    return "slow" if is_slow else ""


_paused = 0.0  # when this process last went on after it had been stopped: what it was doing then took no time itself


def note_pauses() -> None:
    """Count as no case's time what goes by while this process is stopped to leave others the machine."""

    def go_on(*_: object) -> None:
        global _paused
        _paused = time.monotonic()

    signal.signal(signal.SIGCONT, go_on)


class Slice:
    """Some minutes of a core with one target, and what they have found."""

    def __init__(self, target: str, seconds: float, place: Path, kept: Path | None = None) -> None:
        self.read, self.place, self.kept = TARGETS[target].read, place, kept
        self.folder = tempfile.TemporaryDirectory(prefix="seesay-fuzz-", dir=in_memory())
        for content in TARGETS[target].corpus:  # what is loaded once is no matter of the first case
            self.read(content, Path(self.folder.name))
        self.n_cases, self.n_read, self.findings = 0, 0, dict[str, dict[str, Any]]()
        self.start, self.busy, self.seconds = time.monotonic(), time.process_time(), seconds

    def try_one(self, content: bytes) -> None:
        self.n_cases += 1
        if fault := attempt(self._read, content, Path(self.folder.name)):
            if fault not in self.findings and self.kept is not None:
                self.kept.mkdir(parents=True, exist_ok=True)
                (self.kept / f"found-{self.n_cases}").write_bytes(content)
            found = self.findings.setdefault(fault, {"fault": fault, "cases": 0, "content": content[:2000].hex()})
            found["cases"] += 1
        if time.process_time() - self.busy > self.seconds:
            self.end()

    def _read(self, content: bytes, folder: Path) -> None:
        self.read(content, folder)
        self.n_read += 1

    def end(self) -> None:
        """Write what was found, and end the process: atheris has no other end."""
        seconds, cpu = round(time.monotonic() - self.start, 1), round(time.process_time() - self.busy, 1)
        found = {"cases": self.n_cases, "read": self.n_read, "seconds": seconds, "cpu_seconds": cpu}
        self.place.write_text(json.dumps({**found, "findings": [*self.findings.values()]}))
        self.folder.cleanup()
        served.close()
        os._exit(0)


def run_slice(target: str, seed: int, seconds: float, place: Path) -> None:
    """Change files at random in this process until its end."""
    warnings.simplefilter("ignore")  # Pillow warns of every tag that it cannot read
    note_pauses()
    files = TARGETS[target].corpus
    dice, work = random.Random(f"{seed} {target}"), Slice(target, seconds, place)
    while True:
        work.try_one(change(files, dice))


def add_slice(found: dict[str, Any], target: str, arguments: Namespace) -> None:
    """Fuzz a target in a process of its own, and add what it met to what is known."""
    nothing = {"cases": 0, "read": 0, "crashes": 0, "hangs": 0, "seconds": 0.0, "cpu_seconds": 0.0}
    known = found.setdefault(target, {**nothing, "findings": [], "runs": []})
    seed = arguments.seed + len(known["runs"])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "found.json")
        line = ["--slice", target, "--seed", str(seed), "--minutes", str(arguments.minutes), "-o", str(place)]
        module = "fuzz"
        if arguments.changes == "guided":
            module = "guided"
            line += ["--corpus", str(arguments.corpus.absolute())]
        line = [sys.executable, "-m", f"benchmarks.reliability.{module}", *line]
        ended = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
        if place.exists():
            made = json.loads(place.read_text())
        else:  # the process itself has ended: a crash of native code, a hang, or too much memory
            fault = f"the process ended with {ended.returncode}: {ended.stderr[-300:]}"
            made = dict.fromkeys(("cases", "read", "seconds", "cpu_seconds"), 0)
            made["findings"] = [{"fault": fault, "cases": 1, "content": ""}]
    for finding in made["findings"]:
        known["hangs" if finding["fault"] == "slow" else "crashes"] += finding["cases"]
    for key in ("cases", "read", "seconds", "cpu_seconds"):
        known[key] = round(known[key] + made[key], 1)
    known["findings"] = [*known["findings"], *made["findings"]][:_WORST]
    date = datetime.now(UTC).isoformat(timespec="seconds")
    numbers = {key: made[key] for key in ("cases", "read", "seconds", "cpu_seconds")}
    known["runs"].append({"date": date, "seed": seed, "changes": arguments.changes, **numbers, **reach(ended.stderr)})
    print(target, known["runs"][-1], [each["fault"] for each in made["findings"][:3]], flush=True)


def reach(told: str) -> dict[str, list[int]]:
    """What libFuzzer tells of the code that cases have reached: places and kept cases, at first and in the end.

    Example:
        >>> reach("#2 INITED cov: 30 ft: 31 corp: 2/9b\\n#99 NEW cov: 45 ft: 60 corp: 7/80b\\n")
        {'places': [30, 45], 'kept': [2, 7]}
    """
    found = [(int(places), int(kept)) for places, kept in _REACH.findall(told)]
    if not found:
        return {}
    places, kept = zip(found[0], found[-1], strict=True)
    return {"places": [*places], "kept": [*kept]}


_REACH = re.compile(r"cov: (\d+) ft: \d+ corp: (\d+)")


def read_arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30, help="of a core, for each target")
    parser.add_argument("--only", action="append", choices=[*TARGETS], help="these targets")
    parser.add_argument("--seed", type=int, default=0)
    guided = "guided" if find_spec("atheris") else "random"
    parser.add_argument("--changes", choices=["guided", "random"], default=guided)
    parser.add_argument("--corpus", type=Path, default=Path("runs/fuzz"), help="where cases that lead further are kept")
    parser.add_argument(
        "--mended", action="append", choices=[*TARGETS], help="what was found here is mended; run nothing"
    )
    parser.add_argument(
        "--again",
        action="append",
        choices=[*TARGETS],
        help="try again what was found here, and set it aside",
    )
    parser.add_argument("--slice", choices=[*TARGETS], help="this target, in this process")
    return parse_arguments(parser, "fuzz")


def main() -> None:
    arguments = read_arguments()
    if arguments.slice:
        run_slice(arguments.slice, arguments.seed, 60 * arguments.minutes, arguments.output)
    known = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    found, mended = known.get("targets", {}), known.get("mended", [])
    for target in arguments.mended or ():
        mended.append(set_aside(target, found[target]))
    for target in arguments.again or ():
        require_answers(target, found[target])
        mended.append(set_aside(target, found[target]) | {"again": True})
    for target in () if arguments.mended or arguments.again else arguments.only or TARGETS:
        add_slice(found, target, arguments)
        _record(arguments, found, mended)
    _record(arguments, found, mended)


def require_answers(target: str, known: dict[str, Any]) -> None:
    """Try again what was found; the first case that is still wrong ends this run."""
    read = TARGETS[target].read
    with tempfile.TemporaryDirectory(prefix="seesay-fuzz-", dir=in_memory()) as folder:
        for content in [*TARGETS[target].corpus, *(bytes.fromhex(each["content"]) for each in known["findings"])]:
            busy = time.process_time()
            if fault := attempt(read, content, Path(folder)):
                raise SystemExit(f"{target}: {fault}")
            print(target, len(content), "bytes", round(time.process_time() - busy, 2), "s of a core", flush=True)
    served.close()


def set_aside(target: str, known: dict[str, Any]) -> dict[str, Any]:
    """Take findings that are mended off a target's record; gives what is told of them."""
    faults = sorted({finding["fault"] for finding in known["findings"]})
    date = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"target": target, "date": date, "cases": known["crashes"] + known["hangs"], "faults": faults}
    known |= {"crashes": 0, "hangs": 0, "findings": []}
    return told


def _record(arguments: Namespace, found: dict[str, Any], mended: list[dict[str, Any]]) -> None:
    totals = {key: sum(each[key] for each in found.values()) for key in ("cases", "read", "crashes", "hangs")}
    record(arguments, ("pillow", "pathspec"), **totals, targets=found, mended=mended)


if __name__ == "__main__":
    main()
