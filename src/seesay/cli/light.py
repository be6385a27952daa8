"""What a command is written with: its options, what it prints, how it ends. As of typer, without importing it.

Importing typer takes as long as the graphs of a query. A command that is plainly typed runs without it
(`seesay.cli.plain`); for all else `seesay.cli.typed` makes typer's declarations of these.
"""

import sys
from typing import Any


class Declared:
    """An option or an argument, as typer's function of that name takes it.

    Attributes:
        names: What is typed for an option; by default the parameter's name.
        settings: The keywords: `metavar`, `help`, `min`, `max`, `parser`, `callback`, …
    """

    def __init__(self, names: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.names, self.settings = names, settings


class OptionOf(Declared):
    """Something that is typed behind its name."""


class ArgumentOf(Declared):
    """Something that is typed in its place."""


def Option(*names: str, **settings: Any) -> Any:  # noqa: N802 - called as typer's is
    """Declare an option: `Annotated[int, Option("--top", "-n", min=1)]`."""
    return OptionOf(names, settings)


def Argument(**settings: Any) -> Any:  # noqa: N802 - called as typer's is
    """Declare an argument: `Annotated[str, Argument(metavar="PHOTO")]`."""
    return ArgumentOf((), settings)


class Exit(Exception):  # noqa: N818 - no error: a command's end
    """Ends a command with an exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)
        self.exit_code = code


def echo(message: str | bytes = "", *, nl: bool = True, err: bool = False) -> None:
    """Print a line to stdout or stderr, and at once; bytes as they are."""
    stream = sys.stderr if err else sys.stdout
    if isinstance(message, bytes):
        stream.flush()
        stream.buffer.write(message + (b"\n" if nl else b""))
        stream.buffer.flush()
        return
    stream.write(message + ("\n" if nl else ""))
    stream.flush()
