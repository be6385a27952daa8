"""`seesay ground`: where in a photo is what a phrase refers to?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seesay.cli.messages import warn
from seesay.cli.options import AsJson, Model, Photo, Regions
from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from seesay.verbs.grounding import Grounding


def ground(
    photo: Photo,
    phrases: Annotated[
        list[str] | None, typer.Argument(metavar="PHRASE…", help='What to look for, such as "a red ball".')
    ] = None,
    sentence: Annotated[
        str, typer.Option("--sentence", "-s", metavar="SENTENCE", help="Find a box for each phrase of a sentence.")
    ] = "",
    model: Model = "dvsa",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="Boxes for each phrase.")] = 1,
    regions: Regions = "search-100",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to draw. Default: PHOTO-ground.png; with --json nowhere."
        ),
    ] = None,
    heat: Annotated[bool, typer.Option("--heat", help="Draw a heat map of the first phrase under the boxes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the boxes of phrases in a photo, and draw them.

    A phrase about something that is not in the photo gets a box too. The score compares boxes of one photo only. Words
    that the model has never learned are named. With --sentence neighbouring words that refer to the same region are
    joined to a phrase.

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
        output = Path(f"{photo.stem}-ground.png")
    if output is not None:
        require_drawable(output)

    from seesay.drawing.sheets import save_picture
    from seesay.verbs.grounding import ground as find

    found = find(photo, phrases or (), sentence=sentence, model=model, n=n, regions=regions)
    warn(found.warnings)
    if output is not None:
        save_picture(found.draw(heat=heat), output)
    if as_json:
        drawn = {"picture": str(output)} if output is not None else {}
        typer.echo(json.dumps(found.to_dict() | drawn, indent=2, ensure_ascii=False))
    else:
        _print_table(found)
        typer.echo(f"drawn in {output}", err=True)


def _print_table(found: "Grounding") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("phrase", overflow="fold")
    for column in ("score", "left", "top", "width", "height"):
        table.add_column(column, justify="right")
    for row in found:
        edges = [Text(str(edge), style="dim") for edge in found.pixels(row)]
        table.add_row(Text(row.phrase), Text(f"{row.score:.3f}"), *edges)
    Console().print(table)
