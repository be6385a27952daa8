"""Ensembles on the command line."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.cli import light

if TYPE_CHECKING:
    from seesay.catalogue.ensembles import Ensemble
    from seesay.data import Collection
    from seesay.evaluation.retrieval import Evaluation


def name_members(first: str | None, given: str) -> "list[str] | Ensemble":
    """The members of an ensemble whose weights are to be chosen, or the ensemble that was chosen before.

    Args:
        first: Weights that the others are added to.
        given: Names of the others, with commas between them; or the folder of an ensemble, or `shipped`.
    """
    from seesay.catalogue.ensembles import is_ensemble, read_ensemble
    from seesay.errors import SeesayError

    if is_ensemble(given):
        return read_ensemble(given)
    named = (name.strip() for name in (first or "", *given.split(",")))
    names = list(dict.fromkeys(name for name in named if name))
    if not names:
        raise SeesayError("the ensemble has no members", hint="--ensemble vse,dvsa, or --ensemble shipped")
    return names


def evaluate_together(
    members: "list[str] | Ensemble",
    whole: "Collection",
    measured: "Collection",
    protocol: str,
    options: dict[str, Any],
) -> "tuple[Ensemble, Evaluation]":
    """Choose the weights of an ensemble on dev where only its members are known, and measure it.

    Args:
        members: Names of weights, or an ensemble.
        whole: The collection whose dev split chooses.
        measured: What is measured on.
    """
    from seesay.catalogue.ensembles import Ensemble
    from seesay.catalogue.weights import find
    from seesay.evaluation.ensembles import evaluate_ensemble, score_members
    from seesay.evaluation.protocols import EvaluationSet
    from seesay.training.finishing.ensemble import choose_weights

    def tell(split: str, name: str) -> None:
        if not options["as_json"]:
            light.echo(f"scores of {Path(name).name} on {split}", err=True)

    if isinstance(members, Ensemble):
        ensemble = members
    else:
        for name in members:
            find(name)  # a misspelt one is refused before the others have taken their time
        split = options["choose_on"] or "dev"
        dev = whole.split(split)
        ((found, image_of),) = score_members(members, EvaluationSet(dev), on_member=lambda name: tell(split, name))
        ensemble = choose_weights(members, found, image_of, f"{whole.name}/{split}")
        if not options["as_json"]:
            chosen = ", ".join(f"{Path(member.name).name} {member.weight:.2f}" for member in ensemble.members)
            light.echo(f"weights chosen on {split}: {chosen}", err=True)
    split = str(options["split"])
    test = EvaluationSet(measured, protocol, options["seed"])
    evaluation = evaluate_ensemble(ensemble, test, on_member=lambda name: tell(split, name))
    return ensemble, evaluation
