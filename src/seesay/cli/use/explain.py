"""`seesay explain`: where in a picture, and on which words of a sentence, a match rests."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from seesay.explainers.explaining import Explanation


def explain(
    photo: Annotated[Path, typer.Argument(metavar="PHOTO", help="A picture.")],
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="What is said about it.")],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="How: excitation, contrastive, alignment, or attention.")
    ] = "contrastive",
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder; those of the method."),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(metavar="WEIGHTS", help="Attention: draw the steps of these weights below, to compare."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to draw: PHOTO-explain.png here, or with --json nowhere."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: words with weights, maps as rows of numbers.")
    ] = False,
) -> None:
    """Show what a match rests on: heat on the photo, weights on the words.

    Excitation follows back what has excited the match score of an identifier; contrastive takes off what has excited
    the opposite. Alignment shows where each word's own vector fits the picture. Attention shows where sm-LSTM looks at
    each of its steps, with the two words that it reads.
    """
    from seesay.errors import SeesayError
    from seesay.explainers.explaining import METHODS
    from seesay.explainers.explaining import explain as find
    from seesay.images.io import open_image
    from seesay.models.pretrained import load

    if method not in METHODS:
        raise SeesayError(f"there is no method {method!r}", allowed=METHODS, hint="--method contrastive")
    if beside is not None and method != "attention":
        raise SeesayError("--beside draws the steps of two models", allowed="with --method attention")
    if output is None and not as_json:
        output = Path(f"{photo.stem}-explain.png")
    if output is not None:
        require_drawable(output)
    picture = open_image(photo)
    chosen = model or METHODS[method]
    matcher = load(chosen)
    found = find(matcher, matcher.features([picture]), sentence, method)
    if not any(word in matcher.tokenizer for word in found.words):
        typer.echo(f"seesay: {chosen} knows no word of {sentence!r}: its weights mean nothing", err=True)
    rows = [(matcher, found)]
    if beside is not None:
        other = load(beside)
        rows.append((other, find(other, other.features([picture]), sentence, method)))
    if output is not None:
        from seesay.drawing.saliency import draw_explanation, draw_steps
        from seesay.drawing.sheets import save_picture

        labels = [one.weights.name for one, _ in rows if one.weights] if beside else ()
        drawn = (
            draw_steps(picture, [row for _, row in rows], labels, title=sentence)
            if found.steps
            else draw_explanation(picture, found, side=800)
        )
        save_picture(drawn, output)
    if as_json:
        report: dict[str, Any] = {"model": chosen, "photo": str(photo), "sentence": sentence, **found.to_dict()}
        if beside is not None:
            report["beside"] = {"model": beside, **rows[1][1].to_dict()}
        typer.echo(json.dumps(report | ({"picture": str(output)} if output else {}), ensure_ascii=False))
        return
    print_words(found)
    for number, step in enumerate(found.steps, 1):
        typer.echo(f"step {number}: {' · '.join(step.top(found.words))}")
    typer.echo(f"drawn in {output}", err=True)


def print_words(found: "Explanation") -> None:
    """The words with their weights, as shares of the heaviest, in the order of the sentence."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("word")
    table.add_column("weight", justify="right")
    table.add_column("")
    most = max(float(found.weights.max()), 1e-12)
    for word, weight in zip(found.words, found.weights, strict=True):
        bar = "▇" * round(20 * float(weight) / most)
        table.add_row(Text(word), f"{float(weight):.3f}", Text(bar, style="dim"))
    Console().print(table)
    if found.probability is not None:
        typer.echo(f"matches with a probability of {100 * found.probability:.0f} %")
