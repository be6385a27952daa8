"""Every argument and option of every command, given hostile values.

The cases are generated from the command tree (`benchmarks.reliability.lines`). Each runs in a process of its own
(`benchmarks.reliability.attacked`), every fiftieth in a fresh one, with one of several terminals. It fails by a
traceback, an exit code other than 0, 1 and 2, more than ten seconds of a core or a minute in all, more than two
gigabytes, a changed input file, a connection, or characters that steer a terminal.

Stopped, or after `--minutes`, the same command goes on where it was: what is done stands in a file beside the record,
each line with the digest of the code that it ran on. The record counts lines of the present code alone, and a line of
other code is run again. With `--again` it runs again what has failed, and the record says how many lines were mended.
"""

import hashlib
import json
import random
import shlex
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import Any

import seesay
from benchmarks.recording import parse_arguments, record
from benchmarks.reliability.attacked import SECONDS, Attacks
from benchmarks.reliability.inputs import prepare, prepare_learning
from benchmarks.reliability.lines import LEARNING, Case, in_turn, list_cases
from seesay.system.names import printable

FRESH = 50  # every so manieth case runs in a process of its own from the start


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, help="only so many, of all commands in turn")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a core, that a case may take")
    parser.add_argument("--whole", action="store_true", help="with the shipped weights, so that models run")
    parser.add_argument("--only", action="append", metavar="COMMAND", help="run the lines of this command alone")
    parser.add_argument("--again", action="store_true", help="run again what has failed, after it was mended")
    parser.add_argument("--parameter", action="append", default=[], help="with --again: and all lines that attack this")
    arguments = parse_arguments(parser, "hostile")
    prepare()
    until = time.monotonic() + 60 * arguments.minutes
    done_file = arguments.output.with_suffix(".done.jsonl")
    with tempfile.TemporaryDirectory(prefix="seesay-hostile-") as root:
        attacks = Attacks(Path(root).resolve(), arguments.seconds)
        cases = list_cases(attacks.inputs, attacks.given, whole=arguments.whole)
        random.Random(arguments.seed).shuffle(cases)
        cases = in_turn(cases)[: arguments.cases]
        code = digest_of_code()
        rows = {row["number"]: row for row in map(json.loads, _lines(done_file))}
        failed = [number for number, row in rows.items() if row["fault"] or row["parameter"] in arguments.parameter]
        waiting = [number for number in range(len(cases)) if rows.get(number, {}).get("code_digest") != code]
        waiting = failed if arguments.again else waiting
        if arguments.only:
            waiting = [number for number in waiting if cases[number].arguments[0] in arguments.only]
        for number in sorted(waiting, key=lambda number: (cases[number].arguments[0] in LEARNING, number)):
            if time.monotonic() > until:
                break
            if cases[number].arguments[0] in LEARNING:
                prepare_learning()
            row = _run(attacks, cases[number], number) | {"code_digest": code}
            if row["fault"]:
                print(json.dumps(row)[:400], flush=True)
            before = rows.get(number, {})
            rows[number] = row | ({"mended": known} if (known := before.get("fault") or before.get("mended")) else {})
            with done_file.open("a") as log:
                log.write(json.dumps(rows[number]) + "\n")
    present = [rows[number] for number in sorted(rows) if rows[number].get("code_digest") == code]
    _record(arguments, len(cases), present, code)
    if len(present) == len(cases) and not any(row["fault"] for row in present):
        done_file.unlink(missing_ok=True)


def digest_of_code() -> str:
    """Of all modules of the package: what a line has shown is known of these alone."""
    root = Path(seesay.__file__).parent
    files = sorted(root.rglob("*.py"))
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()[:16]


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _run(attacks: Attacks, case: Case, number: int) -> dict[str, Any]:
    # No process can be given a NUL by a shell.
    fresh = number % FRESH == FRESH - 1 and not any("\0" in word for word in case.arguments)
    found = attacks.run(case, fresh=fresh)
    line = shlex.join(word[:200] for word in case.arguments) if found.fault else ""
    return {
        "number": number, "command": case.command, "parameter": case.parameter, "fresh": fresh,
        "seconds": round(found.seconds, 2), "code": found.code, "fault": found.fault,
        "line": printable(attacks.shorten(line)),
    }  # fmt: skip


def _record(arguments: Namespace, n_cases: int, rows: list[dict[str, Any]], code: str) -> None:
    faults = [row for row in rows if row["fault"]]
    mended = Counter(str(row["mended"]).partition(":")[0] for row in rows if "mended" in row and not row["fault"])
    n_fresh = sum(row["fresh"] for row in rows)
    record(
        arguments, ("typer", "pillow"),
        whole=arguments.whole, seed=arguments.seed, code_digest=code,
        n_cases=n_cases, n_run=len(rows), n_forked=len(rows) - n_fresh, n_fresh=n_fresh,
        minutes=round(sum(row["seconds"] for row in rows) / 60, 1), n_commands=len({row["command"] for row in rows}),
        codes=dict(sorted(Counter(str(row["code"]) for row in rows).items())),
        faults=dict(Counter(str(row["fault"]).partition(":")[0] for row in faults)), mended=dict(mended),
        failing=faults,
    )  # fmt: skip


if __name__ == "__main__":
    main()
