"""Several matchers together: their standardised scores, weighed and added up.

    s = Σ_k (weight_k · (s_k − mean_k) − of_images_k · b_k(picture) − of_texts_k · b_k(sentence)) / deviation_k

Matchers score on scales of their own: a cosine, a sum over words, a logarithm of probabilities. Mean and deviation over
all pairs of a dev split bring them onto one. Of an embedding that knows how near to everything a picture or a sentence
is (`seesay.models.popularity`), that is taken off, too. The weights are those under which the right ones are likeliest
on the same split. All of these are constants afterwards, so that an ensemble scores a single pair as it scores a
million.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.evaluation.protocols import divide, find_protocol, read_measured, timed
from seesay.evaluation.report import describe_model
from seesay.evaluation.retrieval import Evaluation, rank_folds
from seesay.models.base import Matcher, Picture
from seesay.models.popularity import POPULARITY
from seesay.models.pretrained import find, load
from seesay.scoring import encode_all
from seesay.system.files import replace_atomically

Scores = NDArray[np.float32]
SHIPPED = "shipped"
"""The name of the ensemble that comes with the package."""
PACKAGED = Path(__file__).parent / "static" / "ensemble.json"
LARGEST = 100.0
"""Weights end here, where a few examples would have them grow for ever."""
_ALLOWED = "shipped, or the ensemble.json that seesay evaluate --ensemble writes"


@dataclass(frozen=True, slots=True)
class Scored:
    """What a matcher says of some pictures and sentences.

    Attributes:
        scores: (n_images, n_texts).
        of_images: (n_images,) how near to everything each picture is, where the matcher knows.
        of_texts: (n_texts,) the same of sentences.
    """

    scores: Scores
    of_images: Scores | None = None
    of_texts: Scores | None = None

    @classmethod
    def by(cls, model: Matcher, images: Tensor, texts: Any) -> "Scored":
        """From what a model's two encoders gave."""
        scores = model.score(images, texts).numpy()
        if model.popularity is None:
            return cls(scores)
        return cls(scores, model.popularity.of_images(images).numpy(), model.popularity.of_texts(texts).numpy())


@dataclass(frozen=True, slots=True)
class Member:
    """One matcher of an ensemble.

    Attributes:
        name: Of its weights, or their folder.
        weight: What its standardised scores count for.
        mean: Of its scores on dev.
        deviation: Of its scores on dev.
        of_images: How much of what pictures are near to everything is taken off.
        of_texts: The same of sentences.
    """

    name: str
    weight: float
    mean: float
    deviation: float
    of_images: float = 0.0
    of_texts: float = 0.0

    def terms(self, found: Scored) -> list[tuple[str, Scores]]:
        """What is added up, each with the field that weighs it; all can be broadcast to (n_images, n_texts)."""
        terms = [("weight", (found.scores - np.float32(self.mean)) / np.float32(self.deviation))]
        if found.of_images is not None and found.of_texts is not None:
            terms.append(("of_images", -found.of_images[:, None] / np.float32(self.deviation)))
            terms.append(("of_texts", -found.of_texts / np.float32(self.deviation)))
        elif self.of_images or self.of_texts:
            raise SeesayError(
                f"the ensemble takes off what is near to everything, and {self.name} does not know it",
                hint=f"put {POPULARITY} beside its weights, or choose the ensemble anew",
            )
        return terms


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Matchers whose scores are added up; `chosen_on` says where their weights come from."""

    members: tuple[Member, ...]
    chosen_on: str = ""

    @property
    def name(self) -> str:
        return " + ".join(Path(member.name).name for member in self.members)

    def join(self, found: Sequence[Scored]) -> Scores:
        """What members say of the same pairs as one score: (n_images, n_texts).

        Example:
            >>> both = Ensemble((Member("a", 1.0, 0.0, 1.0), Member("b", 0.5, 10.0, 2.0)))
            >>> both.join([Scored(np.array([[1.0]])), Scored(np.array([[14.0]]))])
            array([[2.]], dtype=float32)
        """
        joined = np.zeros(found[0].scores.shape, np.float32)
        for member, part in zip(self.members, found, strict=True):
            for field, term in member.terms(part):
                if weight := getattr(member, field):
                    joined += np.float32(weight) * term
        return joined

    @torch.inference_mode()
    def match(self, images: Picture | Sequence[Picture], sentences: str | Sequence[str]) -> Tensor:
        """Score every sentence against every picture: (n_images, n_texts)."""
        models = [load(member.name) for member in self.members]
        return torch.from_numpy(self.join([Scored.by(model, *model.encode(images, sentences)) for model in models]))

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


def read_ensemble(path: Path | str) -> Ensemble:
    """Read what `Ensemble.write` wrote.

    Args:
        path: The file, or `shipped` for the ensemble of packaged weights that benchmarks/ensembles.py chose.

    Raises:
        SeesayError: The file cannot be read or describes no ensemble.
    """
    path = PACKAGED if str(path) == SHIPPED else Path(path)
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        members = tuple(_read_member(member) for member in table["members"])
        if not members:
            raise ValueError
        return Ensemble(members, str(table.get("chosen_on", "")))
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}", allowed=_ALLOWED) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SeesayError(f"{path} describes no ensemble", allowed=_ALLOWED) from error


def _read_member(table: dict[str, Any]) -> Member:
    numbers = {key: float(value) for key, value in table.items() if key != "name"}
    member = Member(str(table["name"]), **numbers)
    if not all(map(math.isfinite, numbers.values())) or member.deviation <= 0:
        raise ValueError
    return member


def choose_weights(
    names: Sequence[str], found: Sequence[Scored], image_of: NDArray[np.int64], chosen_on: str = ""
) -> Ensemble:
    """The weights under which the right ones are likeliest.

    The cost is −log of the probability that a softmax over all pictures gives to the right one of a sentence, and one
    over all sentences to each of a picture's own. It is convex: there is one best choice, and a further member never
    makes it worse. Recalls move in jumps instead, and a search for the highest stops at what dev has by accident.

    Args:
        names: Of the members.
        found: What each says on dev.
        image_of: (n_texts,) the image of each text.
        chosen_on: Remembered as where this was done.
    """
    members = [
        Member(
            name,
            1.0,
            float(part.scores.mean(dtype=np.float64)),
            max(float(part.scores.std(dtype=np.float64)), 1e-12),
        )
        for name, part in zip(names, found, strict=True)
    ]
    places = [
        (place, field, torch.from_numpy(term))
        for place, (member, part) in enumerate(zip(members, found, strict=True))
        for field, term in member.terms(part)
    ]
    owners, columns = torch.from_numpy(image_of), torch.arange(len(image_of))

    def cost(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = torch.from_numpy(given).float().requires_grad_()
        joined = sum((weight * term for weight, (_, _, term) in zip(weights, places, strict=True)), torch.zeros(1))
        right = joined[owners, columns]
        total = (joined.logsumexp(0) + joined.logsumexp(1)[owners] - 2 * right).mean()
        (gradient,) = torch.autograd.grad(total, weights)
        return float(total.detach()), gradient.double().numpy()

    start = np.array([1.0 if field == "weight" else 0.0 for _, field, _ in places])
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(0.0, LARGEST)] * len(start))
    chosen = best.x if best.x.any() else start  # members that know nothing at all still have an order
    for (place, field, _), weight in zip(places, chosen, strict=True):
        members[place] = replace(members[place], **{field: round(float(weight), 4)})  # type: ignore[arg-type]
    return Ensemble(tuple(members), chosen_on)


def score_members(
    names: Sequence[str],
    collection: Collection,
    protocol: str = "full",
    *,
    seed: int | None = None,
    store: Path | None = None,
    on_member: Callable[[str], None] | None = None,
) -> list[tuple[list[Scored], NDArray[np.int64]]]:
    """What every member says of every fold: for each fold that of all members, and the texts' images.

    Args:
        on_member: Told each member's name before its turn.
    """
    wanted = find_protocol(protocol)
    found: list[tuple[list[Scored], NDArray[np.int64]]] = []
    for name in names:
        model = load(name)
        if on_member:
            on_member(name)
        whole = read_measured(model, collection, wanted, seed=seed, store=store)
        for place, source in enumerate(divide(whole, wanted.n_folds)):
            if place == len(found):
                found.append(([], source.image_of))
            with torch.inference_mode():
                found[place][0].append(Scored.by(model, *encode_all(model, source)))
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
    n_images, n_sentences = (sum(found[0].scores.shape[side] for found, _ in folds) for side in (0, 1))
    joined = ((partial(ensemble.join, found), image_of) for found, image_of in folds)
    return rank_folds(joined, find_protocol(protocol), seed, n_images, n_sentences, seconds)
