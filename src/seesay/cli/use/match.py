"""`seesay match`: how well sentences fit pictures."""

import json
from pathlib import Path
from typing import Annotated

import typer


def match(
    things: Annotated[
        list[str],
        typer.Argument(
            metavar="PHOTO… SENTENCE…", help="Pictures and sentences in any order: what exists as a file is a picture."
        ),
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (seesay models).")
    ] = "vse",
    ensemble: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Instead of one model: shipped, or the folder of an ensemble.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score every sentence against every picture, the best sentence of a picture first.

    The score is the model's own: for a joint embedding the cosine, from -1 to 1. Shares say how the sentences given
    here divide a picture among themselves; they are no absolute probabilities.
    """
    from seesay.errors import SeesayError

    photos = [Path(thing) for thing in things if _is_photo(thing)]
    sentences = [thing for thing in things if not _is_photo(thing)]
    if not photos:
        raise SeesayError(
            f"none of {', '.join(map(repr, things))} is a picture file",
            hint='seesay match photo.jpg "a dog runs" "a red bus"',
        )
    if not sentences:
        raise SeesayError("there is no sentence to match", hint=f'seesay match {photos[0]} "a dog runs" "a red bus"')

    from seesay.models.pretrained import load
    from seesay.text.tokens import tokenize

    if ensemble is not None:
        from seesay.cli.ensembles import open_ensemble

        together = open_ensemble(ensemble)
        model, matcher = together.name, load(together.members[0].name)
        scores = together.match(photos, sentences)
        shares = scores.softmax(1)  # its weights were chosen by this very likelihood
    else:
        matcher = load(model)
        scores = matcher.match(photos, sentences)  # (n_photos, n_sentences)
        shares = (scores / matcher.temperature).softmax(1)
    for sentence in sentences:
        if not any(word in matcher.tokenizer for word in tokenize(sentence)):
            typer.echo(f"seesay: {model} knows no word of {sentence!r}: its score means nothing", err=True)
    if as_json:
        rows = [
            {"photo": str(photo), "sentence": sentence, "score": round(float(s), 4), "share": round(float(p), 4)}
            for photo, row, share in zip(photos, scores, shares, strict=True)
            for sentence, s, p in zip(sentences, row, share, strict=True)
        ]
        typer.echo(json.dumps({"model": model, "matches": rows}, indent=2, ensure_ascii=False))
        return

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("photo", overflow="fold")
    table.add_column("sentence", overflow="fold")
    table.add_column("score", justify="right")
    table.add_column("share", justify="right")
    for photo, row, share in zip(photos, scores, shares, strict=True):
        for rank, place in enumerate(row.argsort(descending=True).tolist()):
            style = "bold" if rank == 0 and len(sentences) > 1 else ""
            table.add_row(
                Text(str(photo) if rank == 0 else ""),
                Text(sentences[place], style=style),
                Text(f"{float(row[place]):.3f}", style=style),
                Text(f"{100 * float(share[place]):.0f} %", style="dim"),
            )
    Console().print(table)


def _is_photo(thing: str) -> bool:
    """A file that exists, or a name that can only have been meant as one: its absence is then reported as such."""
    if not thing.strip():  # to `Path` an empty sentence is the current folder
        return False
    try:
        if Path(thing).exists():
            return True
    except OSError:  # a sentence too long for a file name
        return False
    return " " not in thing.strip() and Path(thing).suffix.lower() in {
        ".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif",
    }  # fmt: skip
