"""`seesay describe`: say what is in the regions of a picture."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.captioning import Caption
    from seesay.images.features import Features
    from seesay.images.regions import Boxes
    from seesay.models.dvsa_captions import DVSACaptions

_SMALLEST = 0.05  # of the picture: the network sees no more in less than five of its hundred cells
_LARGEST = 0.8


@dataclass(frozen=True, slots=True)
class _Described:
    """A region and what was said of it."""

    box: tuple[float, float, float, float]
    caption: "Caption"


def describe(
    photo: Annotated[Path, typer.Argument(metavar="PHOTO", help="A picture.")],
    box: Annotated[
        list[str] | None,
        typer.Option("--box", "-b", metavar="X,Y,W,H", help="A region in pixels, instead of salient ones; repeatable."),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (seesay models).")
    ] = "dvsa-captions",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="Salient regions, at most.")] = 4,
    salience: Annotated[
        str, typer.Option(metavar="WEIGHTS", help="Weights whose longest vectors say which regions are salient.")
    ] = "dvsa-flickr8k",
    regions: Annotated[
        str, typer.Option(metavar="SCHEME", help="Regions to choose from: search-N, windows-N or grid-RxC.")
    ] = "search-100",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to draw: PHOTO-described.png here, or with --json nowhere."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Write a sentence about every salient region of a picture, or about regions of one's own.

    The captioner learned from whole pictures and sees a region beside the whole: read what it says as a guess.
    """
    from seesay.captioning import caption_images
    from seesay.images.io import open_image
    from seesay.images.proposals import searched
    from seesay.models.dvsa_captions import cut_regions, load_describer

    if output is None and not as_json:
        output = Path(f"{photo.stem}-described.png")
    if output is not None:
        require_drawable(output)
    searched(regions)
    picture = open_image(photo)
    own = [_read_box(text, picture) for text in box or ()]
    describer = load_describer(model)
    features = describer.features([picture])
    boxes = _as_boxes(own) if own else _choose(describer, picture, features, salience, regions, n)
    captions = caption_images(describer, cut_regions(features, boxes))
    found = [
        _Described((float(left), float(top), float(right), float(bottom)), several[0])
        for (left, top, right, bottom), several in zip(boxes, captions, strict=True)
    ]
    if output is not None:
        _draw(output, picture, found)
    if as_json:
        _print_json(model, photo, picture, found, output)
    else:
        _print_table(found, picture)
        typer.echo(f"drawn in {output}", err=True)


def _read_box(text: str, picture: "Image") -> tuple[float, float, float, float]:
    """A box in pixels as fractions of the picture."""
    from seesay.errors import SeesayError

    allowed = f"left,top,width,height in pixels, inside the {picture.width} x {picture.height} of the picture"
    try:
        x, y, width, height = (float(part) for part in text.split(","))
    except ValueError as error:
        raise SeesayError(f"the box {text!r}", allowed=allowed, hint="--box 10,20,100,80") from error
    inside = x >= 0 and y >= 0 and x + width <= picture.width and y + height <= picture.height
    if not (inside and width >= 1 and height >= 1):
        raise SeesayError(f"the box {text!r}", allowed=allowed, hint="--box 10,20,100,80")
    return x / picture.width, y / picture.height, (x + width) / picture.width, (y + height) / picture.height


def _as_boxes(boxes: list[tuple[float, float, float, float]]) -> "Boxes":
    import numpy as np

    return np.array(boxes, np.float32)


def _choose(
    describer: "DVSACaptions", picture: "Image", features: "Features", salience: str, regions: str, n: int
) -> "Boxes":
    """The salient ones among the regions that are neither tiny nor nearly everything."""
    from seesay.alignment import salient_boxes
    from seesay.images.proposals import propose_regions
    from seesay.models.aligner import load_aligner

    aligner = load_aligner(salience)
    boxes = propose_regions(picture, regions)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    fitting = boxes[(areas >= _SMALLEST) & (areas <= _LARGEST)]
    if len(fitting):
        boxes = fitting
    if aligner.feature_spec != describer.feature_spec:
        features = aligner.features([picture])
    return boxes[salient_boxes(aligner, features, boxes, n)]


def _draw(output: Path, picture: "Image", found: list[_Described]) -> None:
    from seesay.explain.overlay import Mark, colour_of, draw_boxes, fit
    from seesay.explain.sheets import save_picture

    marks = [Mark(row.box, row.caption.text, colour_of(place)) for place, row in enumerate(found)]
    save_picture(draw_boxes(fit(picture, 960), marks), output)


def _pixels(row: _Described, picture: "Image") -> list[int]:
    """Left, top, width and height."""
    left, top, right, bottom = row.box
    x, y = round(left * picture.width), round(top * picture.height)
    return [x, y, round(right * picture.width) - x, round(bottom * picture.height) - y]


def _print_json(model: str, photo: Path, picture: "Image", found: list[_Described], output: Path | None) -> None:
    rows = [
        {
            "caption": row.caption.text,
            "log_prob": round(row.caption.log_prob, 4),
            "box": [round(edge, 4) for edge in row.box],
            "pixels": _pixels(row, picture),
        }
        for row in found
    ]
    report: dict[str, Any] = {"model": model, "photo": str(photo), "size": list(picture.size), "regions": rows}
    if output is not None:
        report["picture"] = str(output)
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_table(found: list[_Described], picture: "Image") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("region", overflow="fold")
    for column in ("left", "top", "width", "height"):
        table.add_column(column, justify="right")
    for row in found:
        edges = [Text(str(edge), style="dim") for edge in _pixels(row, picture)]
        table.add_row(Text(row.caption.text), *edges)
    Console().print(table)
