"""`seesay identify`: which of several photos was a description written for?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import Exact, Overwrite, PathOrAddress
from seesay.cli.pictures import require_drawable, save_drawing, show_result
from seesay.system import ranges
from seesay.system.names import printable
from seesay.system.remote import as_path

if TYPE_CHECKING:
    from seesay.verbs.identification import Identification


def identify(
    sentence: Annotated[str, light.Argument(metavar="SENTENCE", help="A description of one of the photos.")],
    photos: Annotated[
        list[PathOrAddress],
        light.Argument(parser=as_path, metavar="PHOTO…", help="Photos, and folders of photos."),
    ],
    model: Annotated[
        str,
        light.Option(
            "--model", "-m", metavar="WEIGHTS", help="An embedding or identifier by name or folder (seesay models)."
        ),
    ] = "eye",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="Show this many, the best first.")
    ] = 10,
    output: Annotated[
        Path | None,
        light.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Draw the best with heat maps and weighted words: PNG, JPEG or WebP.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    method: Annotated[
        str | None,
        light.Option(metavar="NAME", help="The explainer of the drawing (default: the first that the model lists)."),
    ] = None,
    exact: Exact = False,
    as_json: Annotated[bool, light.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Rank photos by the probability that a description was written for them.

    Choice is the probability that the description was written for this photo, assuming that it was written for one of
    the given photos. Match is the share of people who would say that it fits this photo, regardless of the others. If
    every match is below 30 %, the answer says that none of the photos fits.

    \b
    Examples:
        seesay identify "a man with a camera" ~/Pictures
        seesay identify "a cup of coffee" a.jpg b.jpg c.jpg -o why.png
    """
    _require_description(sentence, photos)
    if output is not None:
        require_drawable(output, *photos, overwrite=overwrite)

    from seesay.cli.progress import progress_bar
    from seesay.verbs.identification import identify as find

    bars = partial(progress_bar, quiet=as_json)
    found = find(sentence, photos, model=model, n=n, method=method, exact=exact, skip_unusable=True, bars=bars)
    warn(found.warnings)
    drawn = save_drawing(found.draw, output)
    show_result(found, _print_table, drawn, as_json=as_json, failures=found.failures)


def _require_description(sentence: str, photos: Sequence[Path]) -> None:
    """Refuse the name of a photo where the description stands."""
    from seesay.errors import SeesayError

    if sentence.lower().endswith((".jpg", ".jpeg", ".png", ".webp")) and Path(sentence).is_file():
        given = " ".join([printable(sentence), *(printable(photo) for photo in photos)])
        raise SeesayError(
            f"{printable(sentence)} is a photo, and there is no description",
            allowed="a description in quotation marks, then photos",
            hint=f'seesay identify "a man with a camera" {given}',
        )


def _print_table(found: "Identification") -> None:
    light.echo("choice   match   photo")
    for row in found:  # each name whole, however narrow the terminal
        light.echo(f"{_percent(row.choice):>6}  {_percent(row.match):>6}   {printable(row.name)}")
    if found.is_none:
        light.echo("none of them fits the description")


def _percent(probability: float | None) -> str:
    if probability is None:
        return "–"
    return f"{100 * probability:.0f} %" if probability >= 0.005 else "< 1 %"
