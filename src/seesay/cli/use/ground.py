"""`seesay ground`: where in a picture is what a phrase speaks of."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.drawing.overlay import Mark, Word
    from seesay.grounding.chains import Segment
    from seesay.grounding.heat import Floats
    from seesay.images.regions import Boxes
    from seesay.models.aligner import Aligner

_FAINT = 0.25  # a phrase that gains less than this part of what the best one gains speaks of nothing in particular


def ground(
    photo: Annotated[Path, typer.Argument(metavar="PHOTO", help="A picture.")],
    phrases: Annotated[
        list[str] | None, typer.Argument(metavar="PHRASE…", help='What to look for, such as "a red ball".')
    ] = None,
    sentence: Annotated[
        str, typer.Option("--sentence", "-s", metavar="SENTENCE", help="Find the place of every part of a sentence.")
    ] = "",
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (seesay models).")
    ] = "dvsa",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="Boxes for each phrase.")] = 1,
    regions: Annotated[
        str, typer.Option(metavar="SCHEME", help="Boxes to choose from: search-N, windows-N or grid-RxC.")
    ] = "search-100",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to draw: PHOTO-ground.png here, or with --json nowhere."
        ),
    ] = None,
    heat: Annotated[bool, typer.Option("--heat", help="Draw a heat map of the first phrase under the boxes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Find what phrases speak of, or every word of a sentence, and draw boxes around it.

    The score is the model's own and tells boxes of a photo apart; a phrase about something that is not there gets a box
    too, and words that the model has never learned are named. With --sentence neighbouring words that look at the same
    place are joined, and each part has its colour.
    """
    from seesay.drawing.sheets import save_picture
    from seesay.errors import SeesayError
    from seesay.images.io import open_image
    from seesay.images.proposals import propose_regions, searched
    from seesay.models.aligner import load_aligner

    if bool(phrases) == bool(sentence.strip()):
        what = "both phrases and a sentence" if phrases else "nothing to look for"
        hint = f'seesay ground {photo} "a red ball", or seesay ground {photo} --sentence "a dog chases a red ball"'
        raise SeesayError(f"there is {what}", allowed="phrases, or --sentence", hint=hint)
    if not all(phrase.strip() for phrase in phrases or ()):
        raise SeesayError("a phrase has no words", allowed='a few words, such as "a red ball"')
    if output is None and not as_json:
        output = Path(f"{photo.stem}-ground.png")
    if output is not None:
        require_drawable(output)
    searched(regions)
    picture = open_image(photo)
    aligner = load_aligner(model)
    boxes = propose_regions(picture, regions)
    if sentence.strip():
        parts, marks, words, heats = _align(aligner, picture, sentence, boxes)
    else:
        parts, marks, words, heats = _find(aligner, picture, phrases or [], boxes, n)
    if output is not None:
        save_picture(_draw(picture, marks, words, heats if heat else None), output)
    if as_json:
        _print_json(model, photo, picture, parts, output)
    else:
        _print_table(parts, picture)
        typer.echo(f"drawn in {output}", err=True)


Part = dict[str, Any]


def _find(
    aligner: "Aligner", picture: "Image", phrases: list[str], boxes: "Boxes", n: int
) -> tuple[list[Part], list["Mark"], list["Word"], "Floats"]:
    """The best boxes of each phrase, read by itself."""
    import torch

    from seesay.drawing.overlay import Mark, Word, colour_of
    from seesay.grounding.heat import best_boxes, box_overlaps, heat_maps, point_at
    from seesay.grounding.tuned import grounding_of
    from seesay.text.tokens import tokenize

    how = grounding_of(aligner)
    features = aligner.features([picture])
    with torch.inference_mode():
        vectors = aligner.encode_phrases(phrases)
        scores = vectors @ aligner.encode_regions(features, boxes)[0].T  # (n_phrases, N)
    heats = heat_maps(aligner, features, vectors)
    parts: list[Part] = []
    marks: list[Mark] = []
    words: list[Word] = []
    for row, (phrase, overlaps) in enumerate(zip(phrases, box_overlaps(heats, boxes, **how.rule), strict=True)):
        tokens = tokenize(phrase)
        _note_unknown(aligner, phrase, tokens)
        for rank, place in enumerate(best_boxes(overlaps, boxes, n)):
            label = phrase if n == 1 else f"{phrase} {rank + 1}"
            point = point_at(heats[row : row + 1], how.blur)[0]
            parts.append(_part(phrase, boxes[place], float(scores[row, place]), point, _unknown(aligner, tokens)))
            marks.append(Mark(boxes[place], label, colour_of(row)))
        words += [Word(phrase, colour_of(row))]
    return parts, marks, words if len(phrases) > 1 else [], heats


def _align(
    aligner: "Aligner", picture: "Image", sentence: str, boxes: "Boxes"
) -> tuple[list[Part], list["Mark"], list["Word"], "Floats"]:
    """Every part of a sentence with its box; parts that speak of nothing in particular have none.

    Words that name nothing, and words that the model has never learned, have no box of their own.
    """
    import torch

    from seesay.drawing.overlay import Mark, Word, colour_of
    from seesay.errors import SeesayError
    from seesay.grounding.chains import align_words
    from seesay.grounding.heat import heat_maps, point_at
    from seesay.grounding.tuned import grounding_of
    from seesay.text.function_words import name_things
    from seesay.text.tokens import tokenize

    how = grounding_of(aligner)
    features = aligner.features([picture])
    with torch.inference_mode():
        texts = aligner.encode_texts([sentence])
    tokens = tokenize(sentence)[: int(texts.lengths[0])]
    if not tokens:
        raise SeesayError(f"the sentence {sentence!r} has no words")
    heats = heat_maps(aligner, features, texts.states[0, : len(tokens)])
    parts: list[Part] = []
    marks: list[Mark] = []
    words: list[Word] = []
    _note_unknown(aligner, sentence, tokens)
    named = zip(tokens, name_things(tokens), strict=True)
    laid = [names and token in aligner.vocabulary for token, names in named]
    found: list[Segment] = align_words(heats, boxes, laid=laid, settings=how)
    least = _FAINT * max(part.gain for part in found)
    for part in found:
        text = " ".join(tokens[part.first : part.last])
        is_seen = part.score > 0 and part.gain >= least
        colour = colour_of(len(marks)) if is_seen else None
        words += [Word(token, colour) for token in tokens[part.first : part.last]]
        if colour is not None:
            marks.append(Mark(boxes[part.region], text, colour))
            point = point_at(heats[part.first : part.last].sum(0, keepdims=True), how.blur)[0]
            unknown = _unknown(aligner, tokens[part.first : part.last])
            parts.append(_part(text, boxes[part.region], part.score, point, unknown))
    return parts, marks, words, heats


def _part(text: str, box: Any, score: float, point: Any, unknown: list[str]) -> Part:
    return {
        "phrase": text,
        "score": score,
        "box": [float(edge) for edge in box],
        "point": [float(x) for x in point],
        "unknown": unknown,
    }


def _unknown(aligner: "Aligner", tokens: list[str]) -> list[str]:
    """The words that name something and that the model has never learned, each once."""
    return [token for token in _named(tokens) if token not in aligner.vocabulary]


def _note_unknown(aligner: "Aligner", text: str, tokens: list[str]) -> None:
    """Say which words of a text a box cannot be about: whoever reads only the picture would take it for an answer."""
    if unknown := _unknown(aligner, tokens):
        what = "only its other words were looked for" if len(unknown) < len(_named(tokens)) else "its box means nothing"
        names = ", ".join(map(repr, unknown))
        typer.echo(f"seesay: the model has never learned {names} of {text!r}: {what}", err=True)


def _named(tokens: list[str]) -> list[str]:
    from seesay.text.function_words import name_things

    naming = zip(tokens, name_things(tokens), strict=True)
    return list(dict.fromkeys(token for token, names in naming if names))


def _draw(picture: "Image", marks: list["Mark"], words: list["Word"], heats: "Floats | None") -> "Image":
    from seesay.drawing.overlay import draw_alignment, draw_heat, fit

    shown = fit(picture, 800)
    if heats is not None:
        first = heats[0] - heats[0].min()
        shown = draw_heat(shown, first / max(float(first.max()), 1e-9))
    return draw_alignment(shown, marks, words, side=800)


def _in_pixels(part: Part, picture: "Image") -> list[int]:
    """Left, top, width and height."""
    left, top, right, bottom = part["box"]
    x, y = round(left * picture.width), round(top * picture.height)
    return [x, y, round(right * picture.width) - x, round(bottom * picture.height) - y]


def _print_json(model: str, photo: Path, picture: "Image", parts: list[Part], output: Path | None) -> None:
    rows = [
        {
            "phrase": part["phrase"],
            "score": round(part["score"], 4),
            "box": [round(edge, 4) for edge in part["box"]],
            "pixels": _in_pixels(part, picture),
            "point": [round(x, 4) for x in part["point"]],
            "unknown": part["unknown"],
        }
        for part in parts
    ]
    report: dict[str, Any] = {"model": model, "photo": str(photo), "size": list(picture.size), "phrases": rows}
    if output is not None:
        report["picture"] = str(output)
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_table(parts: list[Part], picture: "Image") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("phrase", overflow="fold")
    for column in ("score", "left", "top", "width", "height"):
        table.add_column(column, justify="right")
    for part in parts:
        edges = [Text(str(edge), style="dim") for edge in _in_pixels(part, picture)]
        table.add_row(Text(part["phrase"]), Text(f"{part['score']:.3f}"), *edges)
    Console().print(table)
