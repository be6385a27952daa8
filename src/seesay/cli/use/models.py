"""`seesay models`: the installed weights and their figures."""

import json
from typing import Any

import typer

from seesay.cli.options import AsJson


def models(
    as_json: AsJson = False,
) -> None:
    """List the installed weights with their measured figures.

    \b
    Examples:
        seesay models
        seesay models --json
    """
    from seesay.catalogue.weights import installed

    found = installed()
    if as_json:
        rows = [
            {"name": w.name, "bytes": w.size, "folder": str(w.folder), **{key: w.about.get(key) for key in _SHOWN}}
            for w in found
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if not found:
        typer.echo("no trained weights came with this installation", err=True)
        raise typer.Exit(1)

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", caption_justify="left", caption=_CAPTION)
    for column in ("name", "family", "MB", "measured on", "figures"):
        table.add_column(column, justify="right" if column == "MB" else "left")
    for weights in found:
        lines = sorted(weights.figures.items()) or [("–", {})]
        for place, (key, report) in enumerate(lines):
            named = (weights.name, weights.about["family"], f"{weights.size / 1e6:.1f}") if place == 0 else ("", "", "")
            table.add_row(*named, key, _figures(report))
    Console().print(table)


_SHOWN = ("family", "features", "data", "trained", "recipe_fingerprint", "figures")
_CAPTION = "R@1 R@5 R@10 in percent, of sentences for a photo and photos for a sentence; Sum of the six"


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
