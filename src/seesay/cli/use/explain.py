"""`seesay explain`: the parts of a photo and the words of a sentence that a match is based on."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import Exact, Overwrite, Photo
from seesay.cli.pictures import drawn_beside, read_stdin, require_drawable, save_drawing, tell_drawn
from seesay.cli.tables import print_table

if TYPE_CHECKING:
    from seesay.explainers.explanation import Explanation


def explain(
    photo: Photo,
    sentence: Annotated[str, light.Argument(metavar="SENTENCE", help="A sentence about it.")],
    method: Annotated[
        str | None,
        light.Option(
            metavar="NAME",
            help="The explainer: contrastive, excitation, alignment, attention, crops, or another that is installed "
            "(default: the first that the weights' model lists).",
        ),
    ] = None,
    model: Annotated[
        str | None,
        light.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (default: the method's own)."),
    ] = None,
    beside: Annotated[
        str | None,
        light.Option(metavar="WEIGHTS", help="Attention: draw the steps of these weights below, to compare."),
    ] = None,
    output: Annotated[
        Path | None,
        light.Option(
            "--output", "-o", metavar="FILE", help="Where to draw. Default: PHOTO-explain.png; with --json nowhere."
        ),
    ] = None,
    overwrite: Overwrite = False,
    exact: Exact = False,
    as_json: Annotated[
        bool, light.Option("--json", help="Print JSON: words with weights, maps as rows of numbers.")
    ] = False,
) -> None:
    """Explain a match: a heat map of the photo, and a weight for each word.

    Excitation traces the match score of an identifier back to words and places; contrastive subtracts the trace of the
    negated score. Alignment shows where the vector of each word fits the photo. Attention shows where sm-LSTM
    attends at each of its steps, with the two most attended words. Crops compares scores of parts of the photo, each
    shown alone, for models that give nothing but scores (CLIP, SigLIP).

    \b
    Examples:
        seesay explain photo.jpg "a dog runs through the grass"
        seesay explain photo.jpg "a red ball" --method alignment -o why.png
        seesay explain photo.jpg "a red ball" --method attention --json
    """
    from seesay.verbs.explanations import explain as find

    if output is None and not as_json:
        output = drawn_beside(photo, "explain")
    if output is not None:
        require_drawable(output, photo, overwrite=overwrite)
    source = read_stdin(photo)
    found = find(source, sentence, method=method, model=model, exact=exact)
    warn(found.warnings)
    explanation = found.explanation
    other = find(source, sentence, method=explanation.method, model=beside, exact=exact) if beside is not None else None
    drawn = save_drawing(partial(found.draw, beside=other), output)
    if as_json:
        report = found.to_dict()
        if other is not None:
            report["beside"] = {"model": other.model, **other.explanation.to_dict()}
        light.echo(json.dumps(report | drawn, ensure_ascii=False))
        return
    _print_words(explanation)
    for number, step in enumerate(explanation.steps, 1):
        light.echo(f"step {number}: {' · '.join(step.top(explanation.words))}")
    tell_drawn(drawn)


def _print_words(found: "Explanation") -> None:
    """The words with their weights, as shares of the heaviest, in the order of the sentence."""
    most = max(float(found.weights.max()), 1e-12)
    rows = (
        (word, f"{weight:.3f}", ("▇" * round(20 * weight / most), "dim"))
        for word, weight in zip(found.words, found.weights.tolist(), strict=True)
    )
    print_table(("word", "weight", ""), rows, right=("weight",))
    if found.probability is not None:
        light.echo(f"matches with a probability of {100 * found.probability:.0f} %")
