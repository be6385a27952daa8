"""`seesay match`: how well sentences fit photos."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import AsJson, Exact, Model
from seesay.cli.tables import Cell, print_table
from seesay.system.names import printable
from seesay.system.remote import as_path, is_remote

if TYPE_CHECKING:
    from seesay.verbs.matching import Matches


def match(
    things: Annotated[
        list[str],
        light.Argument(
            metavar="PHOTO… SENTENCE…", help="Photos and sentences in any order; the name of a file is a photo."
        ),
    ],
    model: Model = "eye",
    ensemble: Annotated[
        str | None,
        light.Option(
            metavar="FILE",
            help="Instead of one model: shipped, or the folder of an ensemble.",
        ),
    ] = None,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Score every sentence against every photo, and print the best sentence of each photo first.

    The score is the model's own; for a joint embedding it is the cosine, from -1 to 1. The shares compare the given
    sentences with each other and sum to 100 % for each photo. Fits estimates how many of a hundred people would say
    that the sentence fits the photo, regardless of the other sentences.

    \b
    Examples:
        seesay match photo.jpg "a dog runs" "a red bus"
        seesay match a.jpg b.jpg "a cat" "a cup of coffee" --json
        seesay match photo.jpg "a dog runs" "a red bus" --ensemble shipped
    """
    from seesay.errors import SeesayError

    photos = [as_path(thing) for thing in things if _is_photo(thing)]
    sentences = [thing for thing in things if not _is_photo(thing)]
    if not photos:
        raise SeesayError(
            f"none of {', '.join(map(repr, things))} is a photo file",
            hint='seesay match photo.jpg "a dog runs" "a red bus"',
        )
    if not sentences:
        raise SeesayError("there is no sentence to match", hint=f'seesay match {photos[0]} "a dog runs" "a red bus"')

    from seesay.verbs.matching import match as score

    found = score(photos, sentences, model=model, ensemble=ensemble, exact=exact)
    warn(found.warnings)
    if as_json:
        light.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        _print_table(found)


def _print_table(found: "Matches") -> None:
    columns = ("photo", "sentence", "score", "share", *([] if found.fits is None else ["fits"]))
    rows: list[list[Cell]] = []
    for place, image in enumerate(found.images):
        ranked = zip(found.ranked(place), found.fit_words(place), strict=True)
        for rank, ((sentence, score, share), fit) in enumerate(ranked):
            style = "bold" if rank == 0 and len(found.sentences) > 1 else ""
            fits: list[Cell] = [] if found.fits is None else [fit.strip()]
            name = printable(image.name) if rank == 0 else ""
            rows.append([name, (sentence, style), (f"{score:.3f}", style), (f"{100 * share:.0f} %", "dim"), *fits])
    print_table(columns, rows, right=columns[2:])


def _is_photo(thing: str) -> bool:
    """A file that exists, or a name that can only have been meant as one: its absence is then reported as such."""
    if not thing.strip():  # to `Path` an empty sentence is the current folder
        return False
    if is_remote(thing):
        return True
    try:
        if Path(thing).exists():
            return True
    except OSError:  # a sentence too long for a file name
        return False
    return " " not in thing.strip() and Path(thing).suffix.lower() in {
        ".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif",
    }  # fmt: skip
