"""Options that several commands share, declared once: `model: Model = "vse"`."""

from pathlib import Path
from typing import Annotated

import typer


def _check_place(place: str | None) -> str | None:
    from seesay.library.stores.address import refuse_password

    return refuse_password(place)


Model = Annotated[
    str, typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (seesay models).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Photo = Annotated[Path, typer.Argument(metavar="PHOTO", help="A photo.")]
Photos = Annotated[list[Path], typer.Argument(metavar="PHOTO…", help="Photos, and folders of photos.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Draw the result: a PNG, JPEG or WebP file.")
]
Regions = Annotated[
    str, typer.Option("--regions", metavar="SCHEME", help="Boxes to choose from: search-N, windows-N or grid-RxC.")
]
Place = Annotated[
    str | None,
    typer.Option(
        "--library",
        metavar="DIR|URL",
        callback=_check_place,
        help="The library: a folder, or postgresql://USER@HOST/DATABASE. Default: SEESAY_LIBRARY, else your own.",
    ),
]
Data = Annotated[
    str, typer.Option("--data", "-d", metavar="DATA", help="A captioned collection: a path, or a name in SEESAY_DATA.")
]
Collection = Annotated[
    str, typer.Argument(metavar="DATA", help="A captioned collection: a path, or a name in SEESAY_DATA.")
]
Within = Annotated[
    str,
    typer.Option("--in", metavar="DATA", help="Where to look: a captioned collection, or a folder of photos."),
]
Images = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The folder of the images, where the collection does not hold them.")
]
Split = Annotated[str, typer.Option(metavar="NAME", help="Which split of a collection: train, dev, test, or all.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="The seed: the same one gives the same result.")]
Workers = Annotated[int, typer.Option(min=0, metavar="N", help="Threads; 0 means one for each core.")]
Ray = Annotated[
    str | None,
    typer.Option(metavar="local|auto", help="Use a Ray cluster: one on this machine (local), or a running one (auto)."),
]
