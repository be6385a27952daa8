"""`seesay describe`: say what is in the regions of a picture."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.describing import Described


def describe(
    photo: Annotated[Path, typer.Argument(metavar="PHOTO", help="A picture.")],
    box: Annotated[
        list[str] | None,
        typer.Option("--box", "-b", metavar="X,Y,W,H", help="A region in pixels, instead of salient ones; repeatable."),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (seesay models).")
    ] = "dvsa-captions",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="Salient regions, at most.")] = 5,
    salience: Annotated[
        str, typer.Option(metavar="WEIGHTS", help="Weights that say which regions are salient and which phrases fit.")
    ] = "dvsa",
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
    """Say what is in the salient regions of a picture, or in regions of one's own.

    The captioner learned from phrases that were laid on regions by a model which has seen no box itself, and it sees a
    region beside the whole: read what it says as a guess.
    """
    from seesay.describing import describe_boxes, describe_picture
    from seesay.images.io import open_image
    from seesay.images.proposals import searched
    from seesay.models.aligner import load_aligner
    from seesay.models.dvsa_captions import load_describer

    if output is None and not as_json:
        output = Path(f"{photo.stem}-described.png")
    if output is not None:
        require_drawable(output)
    searched(regions)
    picture = open_image(photo)
    own = [_read_box(text, picture) for text in box or ()]
    describer = load_describer(model)
    if own:
        import numpy as np

        found = describe_boxes(describer, describer.features([picture]), np.array(own, np.float32))
    else:
        found = describe_picture(describer, load_aligner(salience), picture, n=n, regions=regions)
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


def _draw(output: Path, picture: "Image", found: "list[Described]") -> None:
    from seesay.explain.overlay import Mark, colour_of, draw_boxes, fit
    from seesay.explain.sheets import save_picture

    marks = [Mark(row.box, row.caption.text, colour_of(place)) for place, row in enumerate(found)]
    save_picture(draw_boxes(fit(picture, 960), marks), output)


def _pixels(row: "Described", picture: "Image") -> list[int]:
    """Left, top, width and height."""
    left, top, right, bottom = row.box
    x, y = round(left * picture.width), round(top * picture.height)
    return [x, y, round(right * picture.width) - x, round(bottom * picture.height) - y]


def _print_json(model: str, photo: Path, picture: "Image", found: "list[Described]", output: Path | None) -> None:
    rows = [
        {
            "caption": row.caption.text,
            "log_prob": round(row.caption.log_prob, 4),
            "fit": None if row.fit is None else round(row.fit, 4),
            "box": [round(edge, 4) for edge in row.box],
            "pixels": _pixels(row, picture),
        }
        for row in found
    ]
    report: dict[str, Any] = {"model": model, "photo": str(photo), "size": list(picture.size), "regions": rows}
    if output is not None:
        report["picture"] = str(output)
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_table(found: "list[Described]", picture: "Image") -> None:
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
