"""`seesay export`: graphs of trained weights, which run without torch."""

import json
from pathlib import Path
from typing import Annotated

from seesay.cli import light
from seesay.cli.options import OverwriteFolder


def export(
    weights: Annotated[list[str], light.Argument(metavar="WEIGHTS…", help="Trained weights, by name or folder.")],
    output: Annotated[
        Path | None,
        light.Option("--output", "-o", metavar="DIR", help="Where copies of the weights go, with their graphs."),
    ] = None,
    precision: Annotated[
        str, light.Option(help="Precision of the network's weights: fp16, fp32, or int8 (faster and less exact).")
    ] = "fp16",
    photos: Annotated[
        Path | None,
        light.Option(metavar="DIR", help="Photos for comparing both engines and for int8. Default: the samples."),
    ] = None,
    overwrite: OverwriteFolder = False,
    as_json: Annotated[bool, light.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Write the graphs of trained weights for ONNX Runtime, each compared with torch before it is kept.

    The commands for photos run on these graphs. They are added to the weights folder, with a graph of the image network
    unless that network ships with seesay. Copies of weights (-o) share one network.

    \b
    Examples:
        seesay export runs/flickr8k/weights
        seesay export vse -o graphs --precision int8 --photos ~/Pictures
    """
    from seesay.catalogue.weights import find
    from seesay.errors import SeesayError
    from seesay.export.exporting import export_weights
    from seesay.system.results import check_result_folder

    for name in weights:
        find(name)  # a misspelt one is refused before any folder is looked through
    paths = sorted(path for path in photos.rglob("*.jp*g") if path.is_file()) if photos else []
    if photos and not paths:
        raise SeesayError(f"there are no photos in {photos}", allowed="a folder with .jpg files")
    for name in weights if output else ():
        check_result_folder(Path(output or "") / Path(name).name, holds=["config.json"], overwrite=overwrite)
    tables = {name: export_weights(name, output, precision=precision, photos=paths) for name in weights}
    if as_json:
        light.echo(json.dumps(tables, indent=2, ensure_ascii=False))
        return
    for name, table in tables.items():
        worst = max(entry.get("difference", 0.0) for entry in table["files"].values())
        light.echo(f"{name}: {', '.join(table['files'])}; at most {worst:.0e} from torch")
        for graph, why in table["missing"].items():
            light.echo(f"  no graph {graph}: {why}")
