"""All commands of the command line, with their help. Commands import what is heavy only when they run."""

from inspect import getdoc
from typing import Annotated

import typer

from seesay.cli.help_text import join_lines
from seesay.cli.research import data
from seesay.cli.research.evaluate import evaluate
from seesay.cli.research.export import export
from seesay.cli.research.features import features
from seesay.cli.research.magnitudes import magnitudes
from seesay.cli.research.map import map
from seesay.cli.research.train import train
from seesay.cli.research.tune import tune
from seesay.cli.typed import as_typed
from seesay.cli.use import library, models
from seesay.cli.use.caption import caption
from seesay.cli.use.demo import demo
from seesay.cli.use.describe import describe
from seesay.cli.use.doctor import doctor
from seesay.cli.use.explain import explain
from seesay.cli.use.ground import ground
from seesay.cli.use.identify import identify
from seesay.cli.use.index import index
from seesay.cli.use.match import match
from seesay.cli.use.neighbours import neighbours
from seesay.cli.use.plan import plan
from seesay.cli.use.regions import regions
from seesay.cli.use.search import search
from seesay.cli.use.serve import serve
from seesay.cli.use.tag import tag
from seesay.cli.use.words import words
from seesay.system.extras import needing
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
    *(demo, search, serve, caption, describe, ground, identify, explain, match, tag, regions, neighbours, map, words),
    *(magnitudes, index, plan, doctor, evaluate, train, tune, features, export),
):
    is_research = function.__module__.startswith("seesay.cli.research.")
    app.command()(needing("train", function) if is_research else function)
app.add_typer(library.app, name="library")
app.add_typer(models.app, name="models", help=join_lines(getdoc(models.models) or ""))
app.add_typer(data.app, name="data")
for each in (app, library.app, models.app, data.app):
    for command in each.registered_commands:
        command.help = join_lines(getdoc(command.callback) or "")
        command.callback = as_typed(command.callback) if command.callback else None
    if each.registered_callback and each.registered_callback.callback:
        each.registered_callback.callback = as_typed(each.registered_callback.callback)
