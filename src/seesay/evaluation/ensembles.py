"""Retrieval by an ensemble of matchers."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seesay.catalogue.ensembles import Ensemble, Scored
from seesay.evaluation.protocols import EvaluationSet, divide, timed
from seesay.evaluation.report import describe_model
from seesay.evaluation.retrieval import Evaluation, rank_folds
from seesay.models.ensemble import scored_by
from seesay.models.pretrained import find, load
from seesay.scoring import encode_all


def describe_ensemble(ensemble: Ensemble) -> dict[str, Any]:
    """What a report says about it in the place of a model."""
    members = [{**describe_model(find(member.name)), **asdict(member)} for member in ensemble.members]
    learned = [name for member in members for name in member["learned_from"]]
    return {
        "name": ensemble.name,
        "family": "ensemble",
        "members": members,
        "chosen_on": ensemble.chosen_on,
        "learned_from": list(dict.fromkeys(learned)),
    }


def score_members(
    names: Sequence[str],
    measured: EvaluationSet,
    *,
    on_member: Callable[[str], None] | None = None,
) -> list[tuple[list[Scored], NDArray[np.int64]]]:
    """What every member predicts for every fold: for each fold that of all members, and the texts' images.

    Args:
        on_member: Told each member's name before its turn.
    """
    found: list[tuple[list[Scored], NDArray[np.int64]]] = []
    for name in names:
        model = load(name)
        if on_member:
            on_member(name)
        for place, source in enumerate(divide(measured.read(model), measured.rules.n_folds)):
            if place == len(found):
                found.append(([], source.image_of))
            with torch.inference_mode():
                found[place][0].append(scored_by(model, *encode_all(model, source)))
    return found


def evaluate_ensemble(
    ensemble: Ensemble,
    measured: EvaluationSet,
    *,
    on_member: Callable[[str], None] | None = None,
) -> Evaluation:
    """Measure an ensemble as `seesay.evaluation.retrieval.evaluate_retrieval` measures one matcher."""
    seconds: dict[str, float] = {}
    names = [member.name for member in ensemble.members]
    with timed("scores", seconds):
        folds = score_members(names, measured, on_member=on_member)
    n_images, n_sentences = (sum(found[0].scores.shape[side] for found, _ in folds) for side in (0, 1))
    joined = ((partial(ensemble.join, found), image_of) for found, image_of in folds)
    return rank_folds(joined, measured.rules, measured.seed, n_images, n_sentences, seconds)
