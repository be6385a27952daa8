"""Search for bytes that a reader neither understands nor refuses in a sentence.

Each target (`benchmarks.reliability.targets`) has a corpus of files that are right; a case is one of them, changed. A
`SeesayError` is an answer; any other exception is a finding, a case of more than ten seconds of a core or a minute in
all is a hang, and the end of the process is a crash. `atheris` looks for changes that reach code which no case has
reached (`--changes guided`); without it changes are drawn at random.

Records accumulate: `--minutes 5` adds five minutes of a core to each target, with the seed that was next. `--again`
tries once more what was found.
"""

import json
import os
import random
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
from benchmarks.reliability.targets import TARGETS, Read, close, in_memory
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
    is_slow = time.process_time() - busy > SECONDS or time.monotonic() - start > PATIENCE
    return "slow" if is_slow else ""


def draw(data: Any, corpus: list[bytes]) -> bytes:
    """A file of the corpus, changed as hypothesis chooses."""
    from hypothesis import strategies as st

    return change(corpus, random.Random(data.draw(st.integers(0, 2**32 - 1))))


def change(corpus: list[bytes], dice: random.Random) -> bytes:
    """A file of a corpus with a few changes."""
    content = bytearray(dice.choice(corpus))
    for _ in range(dice.randint(0, 6)):
        at = dice.randrange(len(content) + 1)
        kind = dice.randrange(7)
        if kind == 0 and content:
            content[min(at, len(content) - 1)] = dice.randrange(256)
        elif kind == 1:
            del content[at:]
        elif kind == 2:
            del content[at : at + dice.randint(1, 20)]
        elif kind == 3:
            content[at:at] = dice.choice(_SPICES)
        elif kind == 4:
            content[at:at] = dice.randbytes(dice.randint(1, 30))
        elif kind == 5:
            content += dice.choice(corpus)
        else:
            content[at:at] = content[at : at + 50] * dice.randint(1, 40)
    return bytes(content)


_SPICES = (
    b"\0", b"\xff\xfe", b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"-1", b"1e999", b"NaN", b"null", b"true", b'""',
    b"\n\n", b"\r", "\u202e".encode(), b"\x1b[31m", b"../../", b"**/", b"*" * 200, b"\xff" * 8, b"\x7f\xff\xff\xff",
    b'"\\ud800"', b"&a;", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"%00", b"Transfer-Encoding: chunked\r\n",
    b"9" * 400, b"0x" + b"f" * 5000, b"\xee\x80\x80" b"5" b"\xee\x80\x80", b"Infinity", b"[]", b"{}", b"1" + b"0" * 30,
    b"Content-Length: 99999999999\r\n", b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n", b"Host: evil\r\n",
)  # fmt: skip


class Slice:
    """Some minutes of a core with one target, and what they have found."""

    def __init__(self, target: str, seconds: float, place: Path) -> None:
        self.read, self.place = TARGETS[target].read, place
        self.folder = tempfile.TemporaryDirectory(prefix="seesay-fuzz-", dir=in_memory())
        for content in TARGETS[target].corpus:  # what is loaded once is no matter of the first case
            self.read(content, Path(self.folder.name))
        self.n_cases, self.findings = 0, list[dict[str, str]]()
        self.start, self.busy, self.seconds = time.monotonic(), time.process_time(), seconds

    def try_one(self, content: bytes) -> None:
        self.n_cases += 1
        if fault := attempt(self.read, content, Path(self.folder.name)):
            self.findings.append({"fault": fault, "content": content[:2000].hex()})
        if time.process_time() - self.busy > self.seconds:
            self.end()

    def end(self) -> None:
        """Write what was found, and end the process: atheris has no other end."""
        seconds, cpu = round(time.monotonic() - self.start, 1), round(time.process_time() - self.busy, 1)
        found = {"cases": self.n_cases, "seconds": seconds, "cpu_seconds": cpu, "findings": self.findings}
        self.place.write_text(json.dumps(found))
        self.folder.cleanup()
        close()
        os._exit(0)


def run_slice(target: str, seed: int, seconds: float, place: Path, corpus: Path | None) -> None:
    """Fuzz in this process until its end."""
    warnings.simplefilter("ignore")  # Pillow warns of every tag that it cannot read
    files = TARGETS[target].corpus
    if corpus is None:
        dice, work = random.Random(f"{seed} {target}"), Slice(target, seconds, place)
        while True:
            work.try_one(change(files, dice))
    import atheris

    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(files):
        (corpus / f"right-{number}").write_bytes(content)
    words = corpus.with_name(f"{target}.words")
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in spice[:64]) + '"\n' for spice in _SPICES))
    with atheris.instrument_imports(include=["seesay", "pathspec"]):
        for module in _READERS:
            __import__(module)
    work = Slice(target, seconds, place)
    options = [
        f"-seed={seed + 1}",
        f"-dict={words}",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-max_len=20000",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={corpus}/../{target}-", str(corpus)], work.try_one)
    atheris.Fuzz()


_READERS = (
    "seesay.data", "seesay.images.io", "seesay.images.wholeness", "seesay.library.indexing.metadata",
    "seesay.library.indexing.ignoring", "seesay.library.indexing.gitignore", "seesay.runtime.tensors",
    "seesay.runtime.graph_file", "seesay.runtime.folder", "seesay.training.recipe", "seesay.text.vocabulary",
    "seesay.library.stores.sqlite", "seesay.web.server", "seesay.web.app", "seesay.settings.calibration",
    "seesay.data.judgements", "seesay.towers.looking", "seesay.text.pieces", "seesay.text.typed.queries",
    "seesay.library.zero_shot", "seesay.library.stores.filters",
)  # fmt: skip


def add_slice(found: dict[str, Any], target: str, arguments: Namespace) -> None:
    """Fuzz a target in a process of its own, and add what it met to what is known."""
    known = found.setdefault(target, {"cases": 0, "crashes": 0, "hangs": 0, "seconds": 0.0, "findings": [], "runs": []})
    seed = arguments.seed + len(known["runs"])
    guided = arguments.changes == "guided"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "found.json")
        line = [sys.executable, "-m", "benchmarks.reliability.fuzz", "--slice", target, "--seed", str(seed)]
        line += ["--minutes", str(arguments.minutes), "-o", str(place)]
        line += ["--corpus", str((arguments.corpus / target).absolute())] if guided else []
        ended = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
        if place.exists():
            made = json.loads(place.read_text())
        else:  # the process itself has ended: a crash of native code, a hang, or too much memory
            fault = f"the process ended with {ended.returncode}: {ended.stderr[-300:]}"
            made = {"cases": 0, "seconds": 0.0, "cpu_seconds": 0.0, "findings": [{"fault": fault, "content": ""}]}
    hangs = sum(finding["fault"] == "slow" for finding in made["findings"])
    known["cases"] += made["cases"]
    known["hangs"] += hangs
    known["crashes"] += len(made["findings"]) - hangs
    known["seconds"] = round(known["seconds"] + made["seconds"], 1)
    known["findings"] = [*known["findings"], *made["findings"]][:_WORST]
    date = datetime.now(UTC).isoformat(timespec="seconds")
    numbers = {key: made[key] for key in ("cases", "seconds", "cpu_seconds")}
    known["runs"].append({"date": date, "seed": seed, "changes": arguments.changes, **numbers})
    print(
        target,
        made["cases"],
        "cases",
        made["seconds"],
        "s",
        [each["fault"] for each in made["findings"][:3]],
        flush=True,
    )


def main() -> None:
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
    arguments = parse_arguments(parser, "fuzz")
    if arguments.slice:
        corpus = arguments.corpus if "--corpus" in sys.argv else None
        run_slice(arguments.slice, arguments.seed, 60 * arguments.minutes, arguments.output, corpus)
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
    close()


def set_aside(target: str, known: dict[str, Any]) -> dict[str, Any]:
    """Take findings that are mended off a target's record; gives what is told of them."""
    faults = sorted({finding["fault"] for finding in known["findings"]})
    date = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"target": target, "date": date, "cases": known["crashes"] + known["hangs"], "faults": faults}
    known |= {"crashes": 0, "hangs": 0, "findings": []}
    return told


def _record(arguments: Namespace, found: dict[str, Any], mended: list[dict[str, Any]]) -> None:
    totals = {key: sum(each[key] for each in found.values()) for key in ("cases", "crashes", "hangs")}
    record(arguments, ("pillow", "pathspec"), **totals, targets=found, mended=mended)


if __name__ == "__main__":
    main()
