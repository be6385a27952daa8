"""The command line: `seesay COMMAND …`. Commands import what is heavy only when they run."""

import os
import sys
from inspect import getdoc
from typing import Annotated

import typer

from seesay.cli.help_text import join_lines
from seesay.cli.research import data
from seesay.cli.research.evaluate import evaluate
from seesay.cli.research.export import export
from seesay.cli.research.features import features
from seesay.cli.research.magnitudes import magnitudes
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
from seesay.cli.use.map import map
from seesay.cli.use.match import match
from seesay.cli.use.models import models
from seesay.cli.use.neighbours import neighbours
from seesay.cli.use.regions import regions
from seesay.cli.use.search import search
from seesay.cli.use.serve import serve
from seesay.cli.use.words import words
from seesay.errors import SeesayError
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
    app.command()(function)
app.add_typer(library.app, name="library")
app.add_typer(data.app, name="data")
for each in (app, library.app, data.app):
    for command in each.registered_commands:
        command.help = join_lines(getdoc(command.callback) or "")


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; a `SeesayError` is printed without a traceback and ends with exit code 2."""
    try:
        app(arguments, prog_name="seesay")
    except SeesayError as error:
        typer.echo(f"seesay: {error}", err=True)
        from seesay.system.cluster import ClusterGoneError

        if isinstance(error, ClusterGoneError):  # Ray's threads, left behind by their cluster, crash an orderly end
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(2)
        sys.exit(2)
    except SystemExit as end:
        if _was_interrupted(end):  # typer has made an exit of it
            typer.echo("seesay: stopped; what was finished is kept, the same command goes on from there", err=True)
        raise


def _was_interrupted(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
