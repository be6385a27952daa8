"""`seesay describe`: describe the regions of a photo."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import AsJson, Model, Overwrite, Photo, Regions
from seesay.cli.pictures import drawn_beside, read_stdin, require_drawable, save_drawing, show_result
from seesay.cli.tables import Cell, dim, print_table
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.verbs.descriptions import Description
    from seesay.verbs.results import Box


def describe(
    photo: Photo,
    box: Annotated[
        list[str] | None,
        light.Option("--box", "-b", metavar="X,Y,W,H", help="A region of your own, in pixels. Repeatable."),
    ] = None,
    model: Model = "dvsa-captions",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="Salient regions, at most.")
    ] = 5,
    phrases: Annotated[
        int,
        light.Option(
            min=1,
            max=ranges.RESULTS,
            metavar="N",
            help="Phrases for each region, if the weights pick phrases (hmlstm).",
        ),
    ] = 3,
    salience: Annotated[
        str, light.Option(metavar="WEIGHTS", help="Weights that choose the salient regions and the phrases that fit.")
    ] = "dvsa",
    regions: Regions = "search-100",
    output: Annotated[
        Path | None,
        light.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to draw. Default: PHOTO-described.png; with --json nowhere.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Describe the salient regions of a photo, or regions of your own.

    dvsa-captions writes a phrase for each region. Its training phrases were assigned to regions by another model, not
    by people, so its phrases are guesses. hmlstm picks several different phrases for each region from those that people
    wrote about its training photos.

    \b
    Examples:
        seesay describe photo.jpg
        seesay describe photo.jpg --box 10,20,200,150 --json
        seesay describe photo.jpg -m hmlstm --phrases 5
    """
    from seesay.images.io import open_image
    from seesay.images.proposals import searched

    if output is None and not as_json:
        output = drawn_beside(photo, "described")
    if output is not None:
        require_drawable(output, photo, overwrite=overwrite)
    searched(regions)

    from seesay.verbs.descriptions import describe as find
    from seesay.verbs.descriptions import require_able

    require_able(model)
    source = read_stdin(photo)
    size = open_image(source).size
    own = [_read_box(text, size) for text in box or ()]
    found = find(source, own, model=model, n=n, n_phrases=phrases, salience=salience, regions=regions)
    warn(found.warnings)
    drawn = save_drawing(found.draw, output)
    show_result(found, _print_table, drawn, as_json=as_json)


def _read_box(text: str, size: tuple[int, int]) -> "Box":
    """A box in pixels as fractions of the photo."""
    from seesay.errors import SeesayError

    photo_width, photo_height = size
    allowed = f"left,top,width,height in pixels, inside the {photo_width} x {photo_height} of the photo"
    try:
        x, y, width, height = (float(part) for part in text.split(","))
    except ValueError as error:
        raise SeesayError(f"the box {text!r}", allowed=allowed, hint="--box 10,20,100,80") from error
    inside = x >= 0 and y >= 0 and x + width <= photo_width and y + height <= photo_height
    if not (inside and width >= 1 and height >= 1):
        raise SeesayError(f"the box {text!r}", allowed=allowed, hint="--box 10,20,100,80")
    return x / photo_width, y / photo_height, (x + width) / photo_width, (y + height) / photo_height


def _print_table(found: "Description") -> None:
    columns = ("region", "left", "top", "width", "height")
    rows: list[list[Cell]] = [["\n".join(row.phrases), *dim(found.pixels(row))] for row in found]
    print_table(columns, rows, right=columns[1:])
