"""Several matchers together: their standardised scores, weighed and added up.

    s = Σ_k weight_k · (s_k − mean_k) / deviation_k

Matchers score on scales of their own: a cosine, a sum over words, a logarithm of probabilities. Mean and deviation over
all pairs of a dev split bring them onto one, and the weights are those that find most on the same split. All three are
constants afterwards, so that an ensemble scores a single pair as it scores a million.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.evaluation.protocols import Evaluation, divide, find_protocol, rank_folds, read_measured, timed
from seesay.evaluation.report import describe_model
from seesay.files import replace_atomically
from seesay.metrics.retrieval import ranks
from seesay.models.base import Picture
from seesay.models.pretrained import find, load
from seesay.training.ranking import score_all

Scores = NDArray[np.float32]
STEPS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Weights that are tried for a member beside 1 for the first."""


@dataclass(frozen=True, slots=True)
class Member:
    """One matcher of an ensemble.

    Attributes:
        name: Of its weights, or their folder.
        weight: What its standardised scores count for.
        mean: Of its scores on dev.
        deviation: Of its scores on dev.
    """

    name: str
    weight: float
    mean: float
    deviation: float

    def standardise(self, scores: Scores | Tensor) -> Any:
        """Scores, brought onto the common scale and weighed."""
        return (scores - self.mean) * (self.weight / self.deviation)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Matchers whose scores are added up; `chosen_on` says where their weights come from."""

    members: tuple[Member, ...]
    chosen_on: str = ""

    @property
    def name(self) -> str:
        return " + ".join(Path(member.name).name for member in self.members)

    def join(self, scores: Sequence[Scores]) -> Scores:
        """The members' scores of the same pairs as one.

        Example:
            >>> both = Ensemble((Member("a", 1.0, 0.0, 1.0), Member("b", 0.5, 10.0, 2.0)))
            >>> both.join([np.array([[1.0]]), np.array([[14.0]])])
            array([[2.]])
        """
        parts = zip(self.members, scores, strict=True)
        joined: Scores = sum(member.standardise(part) for member, part in parts if member.weight)
        return joined

    @torch.inference_mode()
    def match(self, images: Picture | Sequence[Picture], sentences: str | Sequence[str]) -> Tensor:
        """Score every sentence against every picture: (n_images, n_texts)."""
        parts = [member.standardise(load(member.name).match(images, sentences)) for member in self.members]
        return torch.stack(parts).sum(0)

    def describe(self) -> dict[str, Any]:
        """What a report says about it in the place of a model."""
        members = [{**describe_model(find(member.name)), **asdict(member)} for member in self.members]
        learned = [name for member in members for name in member["learned_from"]]
        return {
            "name": self.name,
            "family": "ensemble",
            "members": members,
            "chosen_on": self.chosen_on,
            "learned_from": list(dict.fromkeys(learned)),
        }

    def write(self, path: Path) -> None:
        """Keep it as JSON."""
        with replace_atomically(path) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_ensemble(path: Path) -> Ensemble:
    """Read what `Ensemble.write` wrote.

    Raises:
        SeesayError: The file cannot be read or describes no ensemble.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return Ensemble(tuple(Member(**member) for member in table["members"]), table.get("chosen_on", ""))
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SeesayError(
            f"{path} describes no ensemble", allowed="the ensemble.json that seesay evaluate --ensemble writes"
        ) from error


def choose_weights(
    names: Sequence[str], scores: Sequence[Scores], image_of: NDArray[np.int64], chosen_on: str = ""
) -> Ensemble:
    """The weights under which the members together find most, by the sum of the six recalls.

    One weight after the other is moved along `STEPS` until none gains; the first member keeps 1.

    Args:
        names: Of the members.
        scores: (n_images, n_texts) of each, on dev.
        image_of: (n_texts,) the image of each text.
        chosen_on: Remembered as where this was done.
    """
    members = [
        Member(name, 1.0, float(part.mean(dtype=np.float64)), max(float(part.std(dtype=np.float64)), 1e-12))
        for name, part in zip(names, scores, strict=True)
    ]
    unit = [member.standardise(part) for member, part in zip(members, scores, strict=True)]
    weights = [1.0] * len(members)

    def measure(tried: Sequence[float]) -> float:
        joined = sum(weight * part for weight, part in zip(tried, unit, strict=True))
        return ranks(joined, image_of).report()["sum"]

    best, moved = measure(weights), True
    while moved:
        moved = False
        for place in range(1, len(members)):
            for step in STEPS:
                tried = [*weights[:place], step, *weights[place + 1 :]]
                if step != weights[place] and (found := measure(tried)) > best:
                    best, weights, moved = found, tried, True
    chosen = zip(members, weights, strict=True)
    return Ensemble(
        tuple(Member(member.name, weight, member.mean, member.deviation) for member, weight in chosen), chosen_on
    )


def score_members(
    names: Sequence[str],
    collection: Collection,
    protocol: str = "full",
    *,
    seed: int | None = None,
    store: Path | None = None,
    on_member: Callable[[str], None] | None = None,
) -> list[tuple[list[Scores], NDArray[np.int64]]]:
    """Every member's scores of every fold: for each fold the members' (n_images, n_texts), and the texts' images.

    Args:
        on_member: Told each member's name before its turn.
    """
    wanted = find_protocol(protocol)
    found: list[tuple[list[Scores], NDArray[np.int64]]] = []
    for name in names:
        model = load(name)
        if on_member:
            on_member(name)
        whole = read_measured(model, collection, wanted, seed=seed, store=store)
        for place, source in enumerate(divide(whole, wanted.n_folds)):
            if place == len(found):
                found.append(([], source.image_of))
            found[place][0].append(score_all(model, source).numpy())
    return found


def evaluate_ensemble(
    ensemble: Ensemble,
    collection: Collection,
    protocol: str = "full",
    *,
    seed: int | None = None,
    store: Path | None = None,
    on_member: Callable[[str], None] | None = None,
) -> Evaluation:
    """Measure an ensemble as `seesay.evaluation.protocols.evaluate_retrieval` measures one matcher."""
    seconds: dict[str, float] = {}
    names = [member.name for member in ensemble.members]
    with timed("scores", seconds):
        folds = score_members(names, collection, protocol, seed=seed, store=store, on_member=on_member)
    n_images, n_sentences = (sum(scores[0].shape[side] for scores, _ in folds) for side in (0, 1))
    joined = ((partial(ensemble.join, scores), image_of) for scores, image_of in folds)
    return rank_folds(joined, find_protocol(protocol), seed, n_images, n_sentences, seconds)
