"""Measures the claims of a paper again, by the commands that they name."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seesay import data
from seesay.catalogue.weights import find
from seesay.errors import SeesayError
from seesay.evaluation.replication.claims import Claim
from seesay.evaluation.replication.records import CHECKOUT

Run = Callable[[Sequence[str], Path], int]
"""Runs a command in a folder and gives its exit code."""


@dataclass(frozen=True)
class Skipped:
    """A command that was not run, and why."""

    command: str
    why: str


def run_here(words: Sequence[str], folder: Path) -> int:
    """Run a command as the user would, with the Python and the package that run now."""
    return subprocess.run(words, cwd=folder, check=False).returncode


def measure_claims(
    claims: Sequence[Claim], tell: Callable[[str], None], *, run: Run = run_here, source: Path = CHECKOUT.parents[1]
) -> list[Skipped]:
    """Run every command once, and give those that could not be run.

    Args:
        tell: Told each command before it runs.
        source: The source tree, in which benchmarks lie and results are written.
    """
    skipped = []
    for command in dict.fromkeys(command for claim in claims for command in _commands(claim)):
        needed = {name for claim in claims if command in _commands(claim) for name in claim.data}
        if why := _lacks(shlex.split(command), sorted(needed), source):
            skipped.append(Skipped(command, why))
            continue
        tell(command)
        if code := run(_words(command), source):
            skipped.append(Skipped(command, f"it ended with {code}"))
    return skipped


def _commands(claim: Claim) -> list[str]:
    return [command.strip() for command in claim.command.split("&&") if command.strip()]


def _words(command: str) -> list[str]:
    program, *rest = shlex.split(command)
    return [sys.executable, "-m", "seesay", *rest] if program == "seesay" else [sys.executable, *rest]


def _lacks(words: Sequence[str], collections: Sequence[str], source: Path) -> str:
    """What a command needs and is not here; empty where nothing is missing."""
    for name in collections:
        try:
            data.locate(name)
        except SeesayError as error:
            return f"the data {name} is missing: {error.what}"
    if words[0] != "seesay" and not (source / "benchmarks").is_dir():
        return "benchmarks are part of the source, not of the package"
    for name in words:
        if name.startswith("runs/"):
            try:
                find(source / name)
            except SeesayError:
                return f"the weights {name} are not here: seesay train recipes/{Path(name).parts[1]}.toml makes them"
    return ""
