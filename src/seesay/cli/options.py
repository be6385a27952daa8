"""Options that several commands share, declared once: `model: Model = "eye"`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.system import ranges
from seesay.system.remote import as_path

if TYPE_CHECKING:
    PathOrAddress = Path
else:
    PathOrAddress = object  # to typer no kind of path: it would make a path of the disk of every address


def _check_place(place: str | None) -> str | None:
    from seesay.library.stores.address import refuse_password

    return refuse_password(place)


Model = Annotated[
    str, light.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (seesay models).")
]
Exact = Annotated[bool, light.Option("--exact", help="Take every word as typed, even if it looks misspelt.")]
AsJson = Annotated[bool, light.Option("--json", help="Print JSON instead of text.")]
Photo = Annotated[
    PathOrAddress, light.Argument(parser=as_path, metavar="PHOTO", help="A photo; - reads it from stdin.")
]
Photos = Annotated[
    list[PathOrAddress], light.Argument(parser=as_path, metavar="PHOTO…", help="Photos, and folders of photos.")
]
Output = Annotated[
    Path | None, light.Option("--output", "-o", metavar="FILE", help="Draw the result: a PNG, JPEG or WebP file.")
]
Overwrite = Annotated[
    bool,
    light.Option("--overwrite", help="Replace a file that seesay did not write. Input files are never replaced."),
]
OverwriteFolder = Annotated[
    bool,
    light.Option("--overwrite", help="Write into a folder even if it holds other files than an earlier result."),
]
Regions = Annotated[
    str, light.Option("--regions", metavar="SCHEME", help="Boxes to choose from: search-N, windows-N or grid-RxC.")
]
Place = Annotated[
    str | None,
    light.Option(
        "--library",
        metavar="DIR|URL",
        callback=_check_place,
        help="The library: a folder, or postgresql://USER@HOST/DATABASE. Default: SEESAY_LIBRARY, else your own.",
    ),
]
Precision = Annotated[
    str | None,
    light.Option(
        metavar="float|int8",
        help="Precision of the network, for a library that is still empty: int8 is faster, float is exact. "
        "Default: int8 if the processor supports it.",
    ),
]
Data = Annotated[
    str, light.Option("--data", "-d", metavar="DATA", help="A captioned collection: a path, or a name in SEESAY_DATA.")
]
Collection = Annotated[
    str, light.Argument(metavar="DATA", help="A captioned collection: a path, or a name in SEESAY_DATA.")
]
Within = Annotated[
    str,
    light.Option("--in", metavar="DATA", help="Where to look: a captioned collection, or a folder of photos."),
]
Images = Annotated[
    PathOrAddress | None,
    light.Option(
        parser=as_path, metavar="DIR", help="The folder of the images, if the collection does not contain them."
    ),
]
Split = Annotated[str, light.Option(metavar="NAME", help="Which split of a collection: train, dev, test, or all.")]
Seed = Annotated[
    int, light.Option(min=0, max=ranges.SEED, metavar="N", help="The seed: the same one gives the same result.")
]
Workers = Annotated[
    int, light.Option(min=0, max=ranges.THREADS, metavar="N", help="Threads; 0 means one for each core.")
]
Ray = Annotated[
    str | None,
    light.Option(metavar="local|auto", help="Use a Ray cluster: one on this machine (local), or a running one (auto)."),
]
