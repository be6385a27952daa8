"""Every command shows examples in its help, and each of them is a call that the command takes."""

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from seesay.cli.commands import app

ROOT: Any = typer.main.get_command(app)


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All commands below one, by the words that call them."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from leaves(below, (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(leaves(ROOT))


def examples(command: Any) -> list[str]:
    _, found, block = command.help.partition("\b\nExamples:\n")
    return [line.strip() for line in block.splitlines() if line.strip()] if found else []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_ends_with_examples_of_this_command(name: str) -> None:
    lines = examples(COMMANDS[name])
    assert lines
    for line in lines:
        assert shlex.split(line)[: 1 + len(name.split())] == ["seesay", *name.split()]


@pytest.mark.parametrize(("name", "line"), [(name, line) for name in COMMANDS for line in examples(COMMANDS[name])])
def test_the_example_parses(name: str, line: str) -> None:
    words = shlex.split(line)[1 + len(name.split()) :]
    context = COMMANDS[name].make_context(name, words)
    assert not context.args
