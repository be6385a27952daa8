"""What commands need for several matchers together."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from seesay.data import Collection
    from seesay.evaluation.ensembles import Ensemble
    from seesay.evaluation.protocols import Evaluation
    from seesay.models.weights import Weights


def evaluate_together(
    first: "Weights", given: str, whole: "Collection", measured: "Collection", protocol: str, options: dict[str, Any]
) -> "tuple[Ensemble, Evaluation]":
    """Choose the weights of an ensemble on dev, or take those of a file, and measure it.

    Args:
        first: The weights that the others are added to.
        given: Names of the others, with commas between them, or an ensemble.json.
        whole: The collection whose dev split chooses.
        measured: What is measured on.
    """
    from seesay.evaluation.ensembles import choose_weights, evaluate_ensemble, read_ensemble, score_members
    from seesay.models.weights import find

    def tell(split: str, name: str) -> None:
        if not options["as_json"]:
            typer.echo(f"scores of {Path(name).name} on {split}", err=True)

    if given.endswith(".json"):
        ensemble = read_ensemble(Path(given))
    else:
        names = [options["weights"], *(name.strip() for name in given.split(",") if name.strip())]
        for name in names:
            find(name)  # a misspelt one is refused before the others have taken their time
        split = options["choose_on"] or "dev"
        dev = whole.split(split)
        ((scores, image_of),) = score_members(names, dev, on_member=lambda name: tell(split, name))
        ensemble = choose_weights(names, scores, image_of, f"{whole.name}/{split}")
        if not options["as_json"]:
            chosen = ", ".join(f"{Path(member.name).name} {member.weight:g}" for member in ensemble.members)
            typer.echo(f"weights chosen on {split}: {chosen}", err=True)
    split = str(options["split"])
    found = evaluate_ensemble(
        ensemble, measured, protocol, seed=options["seed"], on_member=lambda name: tell(split, name)
    )
    return ensemble, found
