"""`seesay describe`: say what is in the regions of a picture."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.grounding.describing import Described, Retrieved


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
    phrases: Annotated[
        int, typer.Option(min=1, metavar="N", help="For each, where weights find phrases that people have written.")
    ] = 3,
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

    A captioner writes a phrase for each (dvsa-captions). It learned from phrases that were laid on regions by a model
    which has seen no box itself, and it sees a region beside the whole: read what it says as a guess. A model of
    phrases (hmlstm) finds several for each, that differ, among those that people wrote of the photos it learned from.
    """
    from seesay.grounding.phrases import has_phrases
    from seesay.images.io import open_image
    from seesay.images.proposals import searched

    if output is None and not as_json:
        output = Path(f"{photo.stem}-described.png")
    if output is not None:
        require_drawable(output)
    searched(regions)
    _require_able(model)
    picture = open_image(photo)
    own = [_read_box(text, picture) for text in box or ()]
    found: Sequence[Described | Retrieved]
    if has_phrases(model):
        found = _retrieve(model, salience, picture, own, n, phrases, regions)
    else:
        found = _write(model, salience, picture, own, n, regions)
    if output is not None:
        _draw(output, picture, found)
    if as_json:
        _print_json(model, photo, picture, found, output)
    else:
        _print_table(found, picture)
        typer.echo(f"drawn in {output}", err=True)


def _require_able(model: str) -> None:
    """Refuse weights that neither write phrases nor find them, and name those that do."""
    from seesay.errors import SeesayError
    from seesay.grounding.phrases import has_phrases
    from seesay.models.weights import Weights, find, installed

    def is_able(weights: Weights) -> bool:
        return weights.about["family"] == "dvsa-captions" or has_phrases(weights.folder)

    if not is_able(find(model)):
        able = [weights.name for weights in installed() if is_able(weights)]
        raise SeesayError(f"{find(model).name} describes no regions", allowed=able, hint="seesay models")


def _write(
    model: str, salience: str, picture: "Image", own: list[tuple[float, float, float, float]], n: int, regions: str
) -> "list[Described]":
    import numpy as np

    from seesay.grounding.describing import describe_boxes, describe_picture
    from seesay.models.aligner import load_aligner
    from seesay.models.dvsa_captions import load_describer

    describer = load_describer(model)
    if own:
        return describe_boxes(describer, describer.features([picture]), np.array(own, np.float32))
    return describe_picture(describer, load_aligner(salience), picture, n=n, regions=regions)


def _retrieve(
    model: str,
    salience: str,
    picture: "Image",
    own: list[tuple[float, float, float, float]],
    n: int,
    n_phrases: int,
    regions: str,
) -> "list[Retrieved]":
    import numpy as np

    from seesay.grounding.describing import retrieve_boxes, retrieve_picture
    from seesay.grounding.phrases import load_bank
    from seesay.models.aligner import load_aligner

    finder, bank = load_bank(model)
    if own:
        return retrieve_boxes(finder, bank, finder.features([picture]), np.array(own, np.float32), n_phrases)
    aligner = load_aligner(salience)
    return retrieve_picture(finder, bank, aligner, picture, n=n, n_phrases=n_phrases, regions=regions)


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


def _draw(output: Path, picture: "Image", found: "Sequence[Described | Retrieved]") -> None:
    from seesay.drawing.overlay import Mark, colour_of, draw_boxes, fit
    from seesay.drawing.sheets import save_picture

    marks = [Mark(row.box, " ".join(row.words), colour_of(place)) for place, row in enumerate(found)]
    save_picture(draw_boxes(fit(picture, 960), marks), output)


def _pixels(row: "Described | Retrieved", picture: "Image") -> list[int]:
    """Left, top, width and height."""
    left, top, right, bottom = row.box
    x, y = round(left * picture.width), round(top * picture.height)
    return [x, y, round(right * picture.width) - x, round(bottom * picture.height) - y]


def _print_json(
    model: str, photo: Path, picture: "Image", found: "Sequence[Described | Retrieved]", output: Path | None
) -> None:
    rows = [
        {**_said(row), "box": [round(edge, 4) for edge in row.box], "pixels": _pixels(row, picture)} for row in found
    ]
    report: dict[str, Any] = {"model": model, "photo": str(photo), "size": list(picture.size), "regions": rows}
    if output is not None:
        report["picture"] = str(output)
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _said(row: "Described | Retrieved") -> dict[str, Any]:
    from seesay.grounding.describing import Retrieved

    if isinstance(row, Retrieved):
        return {"phrases": [{"text": phrase.text, "score": round(phrase.score, 4)} for phrase in row.phrases]}
    return {
        "caption": row.caption.text,
        "log_prob": round(row.caption.log_prob, 4),
        "fit": None if row.fit is None else round(row.fit, 4),
    }


def _print_table(found: "Sequence[Described | Retrieved]", picture: "Image") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from seesay.grounding.describing import Retrieved

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("region", overflow="fold")
    for column in ("left", "top", "width", "height"):
        table.add_column(column, justify="right")
    for row in found:
        edges = [Text(str(edge), style="dim") for edge in _pixels(row, picture)]
        several = [phrase.text for phrase in row.phrases] if isinstance(row, Retrieved) else [row.caption.text]
        table.add_row(Text("\n".join(several)), *edges)
    Console().print(table)
