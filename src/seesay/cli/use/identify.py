"""`seesay identify`: which of several pictures was a description written for?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from seesay.models.identifier import Identifier


def identify(
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="A description of one of the pictures.")],
    photos: Annotated[
        list[Path], typer.Argument(metavar="PHOTO…", help="Pictures, and folders whose pictures are all taken.")
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="WEIGHTS", help="An identifier by name or folder (seesay models).")
    ] = "identifier",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="Show this many, the best first.")] = 10,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Draw the best with heat and weighted words: PNG, JPEG or WebP."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The explainer of the drawing (default: the first that the model lists)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Rank pictures by how probable it is that a description was written for them.

    The choice is a probability among the pictures given here, of which one is taken to be the right one. The match
    looks at each picture alone, and takes a description to be as likely right as wrong. Both are calibrated.

    \b
    Examples:
        seesay identify "a man with a camera" ~/Pictures
        seesay identify "a cup of coffee" a.jpg b.jpg c.jpg -o why.png
    """
    from seesay.errors import SeesayError
    from seesay.verbs.inputs import find_photos

    if output is not None:
        require_drawable(output)
    paths, failures = find_photos(photos)

    import torch

    from seesay.cli.progress import progress_bar
    from seesay.explainers.registry import choose_explainer
    from seesay.images.extraction import FeatureStore, FeatureTable, extract
    from seesay.models.identifier import load_identifier
    from seesay.text.tokens import tokenize

    identifier = load_identifier(model)
    explainer = choose_explainer(identifier, method)  # an unknown one is told before anything is computed
    words = tokenize(sentence)
    if not words:
        raise SeesayError(f"the description {sentence!r} has no words")
    if not any(word in identifier.vocabulary for word in words):
        typer.echo(f"seesay: {model} knows no word of {sentence!r}: its choice means nothing", err=True)
    store = FeatureStore(identifier.feature_spec, outputs=identifier.outputs)
    with progress_bar("features", quiet=as_json) as on_progress:
        done = extract(paths, store, on_progress=on_progress)
    failures |= done.failures
    usable = [(path, key) for path in paths if (key := done.keys[path])]
    if not usable:
        raise SeesayError(next(iter(failures.values()), "there are no pictures"), allowed="one picture or more")
    with torch.inference_mode():
        features = FeatureTable(store, [key for _, key in usable]).rows(range(len(usable)))
        logits = identifier.score(identifier.encode_images(features), identifier.encode_texts([sentence]))[:, 0]
        choice, match = identifier.choice_probability(logits), identifier.match_probability(logits)
    order = logits.argsort(descending=True, stable=True).tolist()[:n]
    rows = [(usable[place][0], float(choice[place]), float(match[place])) for place in order]
    if output is not None:
        _draw(identifier, sentence, rows, explainer.name, output)
    if as_json:
        found = [{"photo": str(path), "choice": round(p, 4), "match": round(q, 4)} for path, p, q in rows]
        report = {
            "model": model,
            "sentence": sentence,
            "n_photos": len(usable),
            "photos": found,
            "failures": {str(path): why for path, why in failures.items()},
            **({"picture": str(output)} if output else {}),
        }
        typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        _print_table(rows)
        for why in failures.values():
            typer.echo(f"seesay: {why}", err=True)
        if output is not None:
            typer.echo(f"drawn in {output}", err=True)
    if failures:
        raise typer.Exit(1)


def _draw(
    identifier: "Identifier",
    sentence: str,
    rows: list[tuple[Path, float, float]],
    method: str,
    output: Path,
) -> None:
    from seesay.drawing.saliency import draw_identification
    from seesay.drawing.sheets import save_picture
    from seesay.explainers.explaining import explain
    from seesay.images.io import open_image

    pictures = [open_image(path, at_least=800) for path, _, _ in rows]
    found = [explain(identifier, identifier.features([path]), sentence, method) for path, _, _ in rows]
    labels = [f"{100 * choice:.0f} %  {path.name}" for path, choice, _ in rows]
    save_picture(draw_identification(pictures, found, labels, title=sentence), output)


def _print_table(rows: list[tuple[Path, float, float]]) -> None:
    typer.echo("choice   match   photo")
    for path, choice, match in rows:
        typer.echo(f"{_percent(choice):>6}  {_percent(match):>6}   {path}")  # whole, however narrow the terminal


def _percent(probability: float) -> str:
    return f"{100 * probability:.0f} %" if probability >= 0.005 else "< 1 %"
