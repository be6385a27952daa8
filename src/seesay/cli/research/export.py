"""`seesay export`: graphs of trained weights, which run without torch."""

import json
from pathlib import Path
from typing import Annotated

import typer


def export(
    weights: Annotated[list[str], typer.Argument(metavar="WEIGHTS…", help="Trained weights, by name or folder.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Where a folder for each, and one for the network, go."),
    ],
    precision: Annotated[str, typer.Option(help="fp32, or int8 for a smaller and less exact network.")] = "fp32",
    photos: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Photos to compare both engines on, and to fit int8 to; else the samples."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Write the graphs of trained weights for ONNX Runtime, each compared with torch before it is kept.

    \b
    Examples:
        seesay export vse mrnn -o graphs
        seesay export vse -o graphs --precision int8 --photos ~/Pictures
    """
    from seesay.errors import SeesayError
    from seesay.export.exporting import export_weights

    pictures = sorted(path for path in photos.rglob("*.jp*g") if path.is_file()) if photos else []
    if photos and not pictures:
        raise SeesayError(f"there are no photos in {photos}", allowed="a folder with .jpg files")
    tables = {name: export_weights(name, output, precision=precision, photos=pictures) for name in weights}
    if as_json:
        typer.echo(json.dumps(tables, indent=2, ensure_ascii=False))
        return
    for name, table in tables.items():
        worst = max(entry.get("difference", 0.0) for entry in table["files"].values())
        typer.echo(f"{name}: {', '.join(table['files'])}; at most {worst:.0e} from torch")
        for graph, why in table["missing"].items():
            typer.echo(f"  no graph {graph}: {why}")
