"""Command lines with hostile values, generated from the command tree: a new option is attacked as soon as it exists."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.reliability.inputs import FLOATS, INTEGERS, TEXTS, list_paths

NOWHERE = "no-such-weights"
SLOW = ("demo",)
"""Commands that compute whatever they are given: only in a whole run."""
LEARNING = ("evaluate", "export", "features", "magnitudes", "train", "tune")
"""Commands that import torch, beside which every fork takes longer: they run last."""

_NUMBERS = ("N", "T", "SCORE", "SECONDS", "PIXELS")  # what options call their values


class Case(NamedTuple):
    """A command line."""

    command: str
    parameter: str
    arguments: tuple[str, ...]


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
