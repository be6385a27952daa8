"""`seesay explain`: where in an image, and on which words of a sentence, a match rests."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from seesay.explainers.explanation import Explanation


def explain(
    photo: Annotated[Path, typer.Argument(metavar="PHOTO", help="A photo.")],
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="A sentence about it.")],
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The explainer: contrastive, excitation, alignment, attention, or another that is installed "
            "(default: the first that the weights' model lists).",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (default: the method's own)."),
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

    Excitation follows back what has excited the match score of an identifier; contrastive subtracts what has excited
    the negated score. Alignment shows where the vector of each word fits the photo. Attention shows where sm-LSTM
    attends at each of its steps, with the two most attended words.

    \b
    Examples:
        seesay explain photo.jpg "a dog runs through the grass"
        seesay explain photo.jpg "a red ball" --method alignment -o why.png
        seesay explain photo.jpg "a red ball" --method attention --json
    """
    from seesay.errors import SeesayError
    from seesay.explainers.explaining import explain as find
    from seesay.explainers.registry import choose_explainer, default_weights, explainer_names, find_explainer
    from seesay.images.io import open_image
    from seesay.models.pretrained import load

    chosen = model or default_weights(method)
    if output is None and not as_json:
        output = Path(f"{photo.stem}-explain.png")
    if output is not None:
        require_drawable(output)
    picture = open_image(photo)
    matcher = load(chosen)
    explainer = choose_explainer(matcher, method)
    if beside is not None and not explainer.has_steps:
        able = [name for name in explainer_names() if find_explainer(name).has_steps]
        raise SeesayError("--beside draws the steps of two models", allowed=f"with --method {' or '.join(able)}")
    found = find(matcher, matcher.features([picture]), sentence, explainer.name)
    if not any(word in matcher.tokenizer for word in found.words):
        typer.echo(f"seesay: {chosen} knows no word of {sentence!r}: its weights mean nothing", err=True)
    rows = [(matcher, found)]
    if beside is not None:
        other = load(beside)
        rows.append((other, find(other, other.features([picture]), sentence, explainer.name)))
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
