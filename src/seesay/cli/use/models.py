"""`seesay models`: the weights that there are with their figures, and how to add more."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from seesay.cli import light
from seesay.cli.options import AsJson

app = typer.Typer(invoke_without_command=True)


@app.callback()
def models(context: typer.Context, as_json: AsJson = False) -> None:
    """List the installed weights with their measured figures; add or remove a CLIP or SigLIP of your own.

    \b
    Examples:
        seesay models
        seesay models --json
        seesay models add ~/Downloads/clip-vit-base-patch32 --name clip
    """
    if context.invoked_subcommand:
        return
    from seesay.catalogue.weights import added, eyes, installed

    found = [*installed(), *added()]
    if as_json:
        rows = [
            {"name": w.name, "bytes": w.size, "folder": str(w.folder), **{key: w.about.get(key) for key in _SHOWN}}
            for w in found
        ]
        rows += [{"name": folder.name, "folder": str(folder), "family": None} for folder in eyes()]
        light.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if not found:
        light.echo("no trained weights came with this installation", err=True)
        raise light.Exit(1)

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    for column in ("name", "MB", "measured on", "figures"):  # no wider than 80 columns
        table.add_column(column, justify="right" if column == "MB" else "left")
    for weights in found:
        # A longer key is that of a part of the images, or of another way to decode: the card has them.
        lines = sorted(item for item in weights.figures.items() if item[0].count("/") == 1) or [("–", {})]
        for place, (key, report) in enumerate(lines):
            named = (weights.name, f"{weights.size / 1e6:.1f}") if place == 0 else ("", "")
            table.add_row(*named, key, _figures(report))
    for folder in eyes():
        table.add_row(folder.name, "", "–", "an image network alone")
    Console().print(table)
    light.echo(_CAPTION)


@app.command()
def add(
    folder: Annotated[
        Path, light.Argument(metavar="FOLDER", help="A CLIP or SigLIP as transformers saves it, with safetensors.")
    ],
    name: Annotated[
        str | None, light.Option("--name", metavar="NAME", help="Its name. Default: the name of the folder.")
    ] = None,
    precision: Annotated[
        str, light.Option(metavar="fp32|fp16", help="Precision of the image tower; fp16 takes half the disk space.")
    ] = "fp32",
) -> None:
    """Add a published CLIP or SigLIP; afterwards it works like any other model. The folder itself is only read.

    Commands take it by -m NAME, and `seesay library use NAME` searches a library with it.

    \b
    Examples:
        seesay models add ~/Downloads/clip-vit-base-patch32 --name clip
        seesay models add ~/Downloads/siglip-so400m-patch14-384 --precision fp16
    """
    from seesay.verbs.adding import add_model

    made = add_model(folder, name, precision=precision, tell=lambda what: light.echo(f"seesay: {what}", err=True))
    light.echo(f"added {made.name}: {made.folder}")
    if made.weights is None:
        light.echo(
            f"it reads no sentences; a model on top of it: seesay train recipes/vse.toml --set eye={made.name}",
            err=True,
        )


@app.command()
def remove(name: Annotated[str, light.Argument(metavar="NAME", help="As `seesay models` lists it.")]) -> None:
    """Remove a model that was added. The original folder and your libraries stay.

    \b
    Examples:
        seesay models remove clip
    """
    from seesay.verbs.adding import remove_model

    light.echo(f"removed {remove_model(name)}")


_SHOWN = ("family", "features", "data", "trained", "recipe_fingerprint", "figures")
_CAPTION = "R@1 R@5 R@10 in percent: sentences for a photo, photos for a sentence; the Sum"


def _figures(report: dict[str, Any]) -> str:
    """A line for each thing that was measured."""
    from seesay.catalogue.figures import summarise

    kinds = ("captions", "grounding", "identification")
    lines = [summarise({kind: report[kind]}) for kind in kinds if kind in report]
    if "sum" in report:
        lines.append(f"{_recalls(report['i2t'])} {_recalls(report['t2i'])} {report['sum']:6.1f}")
    return "\n".join(lines)


def _recalls(direction: dict[str, Any]) -> str:
    return " ".join(f"{direction[key]:4.1f}" for key in ("r1", "r5", "r10"))
