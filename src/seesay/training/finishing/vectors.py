"""The vector of an eye: the weight of its second embedding, and that of its hubness.

Both are chosen on several collections at once, and only what helps all of them is taken: what one collection prefers
may be about its kind of photos.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data.collection import Collection
from seesay.images.features import FeatureSpec
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Matcher
from seesay.models.eye_ear import EyeEar, EyeEarConfig

BESIDE = tuple(round(0.05 * step, 2) for step in range(21))
HUBNESS = tuple(round(0.1 * step, 1) for step in range(13))
N_BANK = 6000
BANK_DIM = 64
"""Numbers that are kept of each sentence of the bank."""
SEED = 7

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Dev:
    """A collection's dev part.

    Attributes:
        own: Vectors of images and of sentences, by the eye alone.
        beside: The same, by the second embedding.
        owners: (n_texts,) the image that each sentence was written about.
    """

    name: str
    own: tuple[Tensor, Tensor]
    beside: tuple[Tensor, Tensor]
    owners: NDArray[np.int64]

    def scores(self, weight: float) -> Scores:
        """(n_images, n_texts) cosines, with so much weight on the embedding beside."""
        own, beside = ((images @ texts.T).numpy() for images, texts in (self.own, self.beside))
        return np.asarray((1 - weight) * own + weight * beside, np.float32)


def put_together(
    alone: EyeEar, beside: Matcher, devs: Sequence[Dev], bank: Sequence[str]
) -> tuple[EyeEar, dict[str, dict[str, dict[str, float]]]]:
    """The eye with the embedding beside it and corrected for hubness as the dev parts prefer, and what they said."""
    weight, sums = choose_weight(devs)
    name = beside.weights.name if beside.weights else ""
    config = replace(alone.config, beside=name, beside_dim=beside.view_dim, beside_weight=weight)
    both = _like(alone, config, beside.feature_spec)
    images = [both.stand_beside(dev.own[0], dev.beside[0]) for dev in devs]
    made = with_bank(both, bank, torch.cat(images))
    assert made.bank is not None
    hubness = [made.bank(each).numpy() - made.config.hub_mean for each in images]
    hub_weight, recalls = choose_correction([dev.scores(weight) for dev in devs], hubness, devs)
    made.config = replace(made.config, hub_weight=hub_weight)
    return made, {
        "Sum by weight of the embedding beside": sums,
        "R@1 + R@5 + R@10 of images by weight of hubness": recalls,
    }


def alone(model: EyeEar, features: FeatureSpec) -> EyeEar:
    """The eye without an embedding beside it and without a bank, on the features of that embedding."""
    return _like(model, replace(model.config, beside="", n_bank=0), features)


def _like(model: EyeEar, config: EyeEarConfig, features: FeatureSpec) -> EyeEar:
    """The same parts in another arrangement."""
    made = EyeEar(config, model.subwords, features)
    own = made.state_dict().keys()
    made.load_state_dict({key: value for key, value in model.state_dict().items() if key in own}, strict=False)
    return made.eval().requires_grad_(False)


def choose_weight(devs: Sequence[Dev]) -> tuple[float, dict[str, dict[str, float]]]:
    """The weight of the embedding beside with the best mean Sum of recalls, and the Sums by collection and weight."""
    sums = {
        weight: {dev.name: float(retrieval_report(dev.scores(weight), dev.owners)["sum"]) for dev in devs}
        for weight in BESIDE
    }
    best = max(BESIDE, key=lambda weight: float(np.mean(list(sums[weight].values()))))
    return best, {str(weight): {name: round(own, 1) for name, own in row.items()} for weight, row in sums.items()}


def choose_correction(
    scores: Sequence[Scores], hubness: Sequence[Scores], devs: Sequence[Dev]
) -> tuple[float, dict[str, dict[str, float]]]:
    """The weight of hubness with the best mean recall of images among those under which no collection loses.

    Returns:
        The weight, and R@1 + R@5 + R@10 of images by weight and collection.
    """
    found: dict[float, list[float]] = {}
    for weight in HUBNESS:
        corrected = [own - weight * hub[:, None] for own, hub in zip(scores, hubness, strict=True)]
        found[weight] = [_recall_of_images(own, dev.owners) for own, dev in zip(corrected, devs, strict=True)]
    allowed = [weight for weight in HUBNESS if all(a >= b for a, b in zip(found[weight], found[0.0], strict=True))]
    best = max(allowed, key=lambda weight: float(np.mean(found[weight])))
    table = {
        str(weight): {dev.name: round(own, 1) for dev, own in zip(devs, row, strict=True)}
        for weight, row in found.items()
    }
    return best, table


def _recall_of_images(scores: Scores, owners: NDArray[np.int64]) -> float:
    better = (scores > scores[owners, np.arange(len(owners))]).sum(0)
    return sum(100 * float((better < n).mean()) for n in (1, 5, 10))


def draw_bank(collections: Sequence[Collection], n: int = N_BANK, seed: int = SEED) -> list[str]:
    """Training sentences of several collections, as many of each."""
    rng = np.random.default_rng(seed)
    drawn: list[str] = []
    for collection in collections:
        sentences = collection.split("train").sentences
        places = rng.choice(len(sentences), min(n // len(collections), len(sentences)), replace=False)
        drawn += [sentences[place] for place in places]
    return drawn


@torch.inference_mode()
def with_bank(model: EyeEar, sentences: Sequence[str], images: Tensor) -> EyeEar:
    """The same eye with a bank of sentences, whose correction does not count yet.

    Args:
        model: Without a bank.
        images: (n, dim) vectors of photos whose mean hubness is left.
    """
    texts = torch.cat([model.encode_texts(sentences[start : start + 100]) for start in range(0, len(sentences), 100)])
    made = _like(
        model, replace(model.config, n_bank=len(sentences), bank_dim=BANK_DIM, hub_weight=0.0), model.feature_spec
    )
    assert made.bank is not None
    made.bank.fill(texts)
    made.config = replace(made.config, hub_mean=round(float(made.bank(images).mean()), 4))
    return made
