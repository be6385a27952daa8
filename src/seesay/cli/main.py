"""The command line: `seesay COMMAND …`. Commands import what is heavy only when they run."""

import errno
import io
import os
import sys
from contextlib import suppress
from inspect import getdoc
from typing import Annotated

import typer

from seesay.cli.help_text import join_lines
from seesay.cli.messages import describe_error
from seesay.cli.research import data
from seesay.cli.research.evaluate import evaluate
from seesay.cli.research.export import export
from seesay.cli.research.features import features
from seesay.cli.research.magnitudes import magnitudes
from seesay.cli.research.map import map
from seesay.cli.research.train import train
from seesay.cli.research.tune import tune
from seesay.cli.use import library
from seesay.cli.use.caption import caption
from seesay.cli.use.demo import demo
from seesay.cli.use.describe import describe
from seesay.cli.use.doctor import doctor
from seesay.cli.use.explain import explain
from seesay.cli.use.ground import ground
from seesay.cli.use.identify import identify
from seesay.cli.use.index import index
from seesay.cli.use.match import match
from seesay.cli.use.models import models
from seesay.cli.use.neighbours import neighbours
from seesay.cli.use.regions import regions
from seesay.cli.use.search import search
from seesay.cli.use.serve import serve
from seesay.cli.use.words import words
from seesay.errors import SeesayError
from seesay.system import ranges
from seesay.system.extras import extra_of, missing_parts, needing
from seesay.system.version import VERSION

app = typer.Typer(
    name="seesay",
    help="See an image, say what is in it; say something, see it. Offline.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"seesay {VERSION}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """See an image, say what is in it; say something, see it. Offline."""


for function in (
    *(demo, search, serve, caption, describe, ground, identify, explain, match, regions, neighbours, map, words),
    *(magnitudes, index, models, doctor, evaluate, train, tune, features, export),
):
    is_research = function.__module__.startswith("seesay.cli.research.")
    app.command()(needing("train", function) if is_research else function)
app.add_typer(library.app, name="library")
app.add_typer(data.app, name="data")
for each in (app, library.app, data.app):
    for command in each.registered_commands:
        command.help = join_lines(getdoc(command.callback) or "")


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; a `SeesayError` is printed without a traceback and ends with exit code 2."""
    _prepare_output()
    try:
        _check_lengths(sys.argv[1:] if arguments is None else arguments)
        try:
            app(arguments, prog_name="seesay")
        except ModuleNotFoundError as error:
            extra = extra_of(error.name)
            if extra is None:
                raise
            raise missing_parts([extra], "this") from error
    except SeesayError as error:
        typer.echo(f"seesay: {describe_error(error)}", err=True)
        from seesay.system.cluster import ClusterGoneError

        if isinstance(error, ClusterGoneError):  # Ray's threads, left behind by their cluster, crash an orderly end
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(2)
        sys.exit(2)
    except SystemExit as end:
        if _was_interrupted(end):  # typer has made an exit of it
            typer.echo("seesay: stopped; what was finished is kept, the same command goes on from there", err=True)
        _end_output()
        raise
    except OSError as error:
        if error.errno not in _NOBODY_READS:
            raise
        _give_up_output()
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if not _lacks_memory(error):
            raise
        typer.echo("seesay: there is not enough memory for that", err=True)
        sys.exit(1)


def _prepare_output() -> None:
    """See to it that there is something to print to, and that it takes every letter.

    Where a shell has closed a stream (`>&-`), the next file that is opened has its number, and whatever a library
    prints goes into that file.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):  # a terminal of another alphabet
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


_NOBODY_READS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)  # what is printed goes to a closed pipe or a full disk


def _check_lengths(arguments: list[str]) -> None:
    """Refuse an argument that is longer than any name, sentence or list of them."""
    longest = max((len(argument) for argument in arguments), default=0)
    if longest > ranges.TEXT:
        raise SeesayError(f"an argument has {longest:,} characters", allowed=f"up to {ranges.TEXT:,}")


def _end_output() -> None:
    """Write out what was printed; where it cannot be, that is no success, and no reason for a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_output()
        sys.exit(1)


def _give_up_output() -> None:
    """Let Python's own last flush meet something that takes everything."""
    with suppress(OSError, ValueError):  # of a test's stand-in for the terminal
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lacks_memory(error: Exception) -> bool:
    """Whether there was too little memory, which PyTorch says in a sentence of its own."""
    return isinstance(error, MemoryError) or "allocate memory" in str(error) or "not enough memory" in str(error)


def _was_interrupted(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
