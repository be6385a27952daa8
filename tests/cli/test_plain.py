"""What is read without typer is what typer would read."""

from functools import wraps
from importlib import import_module
from typing import Any

import pytest
import typer

from seesay.cli.main import PLAIN
from seesay.cli.plain import read_plainly
from seesay.cli.typed import as_typed

PLAINLY = (
    "search dogs",
    "search dogs folder other --json",
    "search dogs --no-index -n 5 --min-score 0.25 --library place",
    "search dogs --top=7 --after 2019 --in summer --sort date --exact",
    "search --like a.jpg --like b.jpg --plus snow --minus cars --paths0",
    "search - folder -o out.png --overwrite",
    "match a.jpg sentence other -m vse --json",
    "caption a.jpg b.jpg",
    "words dog cat --json",
    "index folder other",
    "explain a.jpg sentence",
)
NOT_PLAINLY = (
    "search --help",
    "search dogs --top many",
    "search dogs --top 0",
    "search dogs --nonsense",
    "search dogs --top",
    "search dogs --min-score nan",
    "search dogs -- --top",
    "search dogs -n5",
    "search dogs --json=yes",
    "match",
    "ground a.jpg phrase",
)


def by_typer(name: str, words: list[str]) -> dict[str, Any]:
    """The arguments that typer calls a command with."""
    command = getattr(import_module(f"seesay.cli.use.{name}"), name)
    given: dict[str, Any] = {}

    @wraps(command)
    def stand_in(**options: Any) -> None:
        given.update(options)

    app = typer.Typer()
    app.command()(as_typed(stand_in))
    app(words, standalone_mode=False)
    return given


@pytest.mark.parametrize("line", PLAINLY)
def test_what_is_plainly_typed_is_read_as_typer_reads_it(line: str) -> None:
    name, *words = line.split()
    found = read_plainly(getattr(import_module(f"seesay.cli.use.{name}"), name), words)
    assert found is not None
    expected = by_typer(name, words)
    assert {key: value or None for key, value in found.items()} == {
        key: value or None for key, value in expected.items()
    }


@pytest.mark.parametrize("line", NOT_PLAINLY)
def test_what_is_not_is_left_to_typer(line: str) -> None:
    name, *words = line.split()
    assert read_plainly(getattr(import_module(f"seesay.cli.use.{name}"), name), words) is None


@pytest.mark.parametrize("name", PLAIN)
def test_every_command_that_may_be_called_at_once_is_declared_plainly(name: str) -> None:
    module = import_module(f"seesay.cli.use.{name}")
    words = ["a", "b"]
    one = read_plainly(getattr(module, name), words[:1])
    assert one is not None or read_plainly(getattr(module, name), words) is not None
