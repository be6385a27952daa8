"""`seesay ground`: the box of a phrase in a photo."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import AsJson, Exact, Model, Overwrite, Photo
from seesay.cli.pictures import drawn_beside, read_stdin, require_drawable, save_drawing, show_result
from seesay.cli.tables import Cell, dim, print_table
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.verbs.grounding import Grounding


def ground(
    photo: Photo,
    phrases: Annotated[
        list[str] | None, light.Argument(metavar="PHRASE…", help='What to look for, such as "a red ball".')
    ] = None,
    sentence: Annotated[
        str, light.Option("--sentence", "-s", metavar="SENTENCE", help="Find a box for each phrase of a sentence.")
    ] = "",
    model: Model = "dvsa",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="Boxes for each phrase.")
    ] = 1,
    regions: Annotated[
        str,
        light.Option(
            "--regions",
            metavar="SCHEME",
            help="Boxes to choose from: search-N, windows-N or grid-RxC. Default: what the weights have learned to "
            "draw, else search-100.",
        ),
    ] = "",
    output: Annotated[
        Path | None,
        light.Option(
            "--output", "-o", metavar="FILE", help="Where to draw. Default: PHOTO-ground.png; with --json nowhere."
        ),
    ] = None,
    overwrite: Overwrite = False,
    heat: Annotated[bool, light.Option("--heat", help="Draw a heat map of the first phrase under the boxes.")] = False,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Find the boxes of phrases in a photo, and draw them.

    The percentage is the probability that the photo shows what the phrase says; an improbable phrase is reported as not
    found. Weights without such a calibration print a score, which only compares boxes of the same photo. Words that the
    model does not know are listed. With --sentence, neighbouring words that refer to the same region form a phrase.

    \b
    Examples:
        seesay ground photo.jpg "a red ball"
        seesay ground photo.jpg "a man" "a camera" -o boxes.png
        seesay ground photo.jpg --sentence "a dog chases a red ball"
    """
    from seesay.errors import SeesayError

    if bool(phrases) == bool(sentence.strip()):
        what = "both phrases and a sentence" if phrases else "nothing to look for"
        hint = f'seesay ground {photo} "a red ball", or seesay ground {photo} --sentence "a dog chases a red ball"'
        raise SeesayError(f"there is {what}", allowed="phrases, or --sentence", hint=hint)
    if output is None and not as_json:
        output = drawn_beside(photo, "ground")
    if output is not None:
        require_drawable(output, photo, overwrite=overwrite)

    from seesay.verbs.grounding import ground as find

    source = read_stdin(photo)
    found = find(source, phrases or (), sentence=sentence, model=model, n=n, regions=regions, exact=exact)
    warn(found.warnings)
    drawn = save_drawing(partial(found.draw, heat=heat), output)
    show_result(found, _print_table, drawn, as_json=as_json)


def _print_table(found: "Grounding") -> None:
    from seesay.verbs.grounding import say_found

    columns = ("phrase", "score", "left", "top", "width", "height")
    rows: list[list[Cell]] = [[row.phrase, say_found(row), *dim(found.pixels(row))] for row in found]
    print_table(columns, rows, right=columns[1:])
