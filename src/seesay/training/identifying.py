"""The learning task of identifiers: pairs of an image and a sentence, of which half do not belong together.

A batch holds sentences with their own images and, for each sentence, one or more images that it was not written
for: of the same collection, drawn at random, or among the images most similar to its own. Both kinds of pairs weigh
one half of the loss, however many mismatches there are (paper 004, section 3.2). Beyond the paper, a share of the loss
can ask which of the images it is, and a share of the sentences can be cut to a few words, as phrases are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seesay.data.examples import Examples, Indices
from seesay.errors import SeesayError
from seesay.metrics.calibration import expected_calibration_error, fit_scaling, fit_temperature
from seesay.metrics.identification import draw_trials, identification_accuracy
from seesay.models.base import Matcher
from seesay.models.identifier import Identifier
from seesay.scoring import score_trials, similar_images
from seesay.training.recipe import Recipe
from seesay.training.sources import SourceTask, require_images
from seesay.training.task import Loss, register_task

N_CANDIDATES = 10
"""Images to choose from in the trials that probabilities are fitted on."""
DEV_TRIALS = 2000
FEWEST_WORDS = 2
"""Of a part of a sentence that is read in its place."""


@dataclass(frozen=True)
class Batch:
    """A whole batch: which source, its sentences, and for each the right image followed by wrong ones (n, 1 + m)."""

    source: int
    texts: list[str]
    images: Indices


@register_task("identification")
class IdentifyingTask(SourceTask[Identifier]):
    """An identifier, the collections it learns from, and the collection it is measured on."""

    def __init__(self, model: Identifier, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None:
        require_images(sources, recipe, "an identifier")
        for source in (*sources, dev):
            if len(source.collection) < 2:
                raise SeesayError(f"{source.collection.name} has one image and nothing to tell it from")
        super().__init__(model, sources, dev, recipe)

    def batch(self, epoch: int, index: int) -> Batch:
        place, examples = self._batches.take(epoch, index)
        source = self.sources[place]
        own = source.image_of[examples]
        rng = np.random.default_rng([self.recipe.seed, epoch, index])
        n_images, n_wrong = len(source.collection), self.model.config.mismatches
        wrong = (own[:, None] + rng.integers(1, n_images, (len(own), n_wrong))) % n_images  # any image but its own
        if self.model.config.hard:
            similar = self.similar[place][own]  # (n, k)
            chosen = similar[np.arange(len(own))[:, None], rng.integers(similar.shape[1], size=wrong.shape)]
            wrong = np.where(rng.random(wrong.shape) < self.model.config.hard, chosen, wrong)
        texts = [source.sentences[example] for example in examples]
        if self.model.config.parts:
            texts = [cut_part(text, rng) if rng.random() < self.model.config.parts else text for text in texts]
        return Batch(place, texts, np.concatenate([own[:, None], wrong], 1))

    @cached_property
    def similar(self) -> list[Indices]:
        """For every image of every source the most similar others, by the cosine of the network's vectors."""
        return [similar_images(source, self.model.config.n_similar) for source in self.sources]

    def loss(self, batch: Batch, rank: int, world: int) -> Loss:
        own = slice(rank, None, world)
        table = self.sources[batch.source].table
        assert table is not None
        wanted = batch.images[own]  # (n, 1 + m)
        texts = self.model.encode_texts(batch.texts[own])
        images = self.model.encode_images(table.rows(wanted.ravel().tolist()))
        logits = self.model.choose(images.view(*wanted.shape, -1), texts)
        right = F.softplus(-logits[:, 0]).sum()  # −log σ(logit)
        wrong = F.softplus(logits[:, 1:]).sum() / (wanted.shape[1] - 1)
        loss = (right + wrong) / 2
        if share := self.model.config.choice:
            asked = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long), reduction="sum")
            loss = (1 - share) * loss + share * asked
        return Loss.of_own_part(loss / len(batch.texts), world)

    def finalize(self) -> None:
        """Fit the probabilities on dev."""
        trials = draw_trials(self.dev.image_of, n_candidates=min(N_CANDIDATES, len(self.dev.collection)), seed=1)
        self.model.calibration.copy_(torch.tensor(fit_temperatures(score_trials(self.model, self.dev, trials))))

    def save_extras(self, folder: Path) -> None:
        """Nothing but the weights is kept."""

    def evaluate(self) -> dict[str, float]:
        """Identification among two and ten of the dev images, and the cross-entropy of the choice among ten."""
        return measure_identification(self.model, self.dev)

    def measure(self, model: Matcher) -> dict[str, Any]:
        """The figures of finished weights on dev."""
        return {"identification": measure_identification(cast(Identifier, model), self.dev)}


def cut_part(sentence: str, rng: np.random.Generator) -> str:
    """Two or more words of a sentence that follow each other, all of it among them.

    Example:
        >>> cut_part("two dogs run in the snow", np.random.default_rng(1))
        'dogs run in the'
    """
    words = sentence.split()
    if len(words) <= FEWEST_WORDS:
        return sentence
    n = int(rng.integers(FEWEST_WORDS, len(words) + 1))
    first = int(rng.integers(len(words) - n + 1))
    return " ".join(words[first : first + n])


def fit_temperatures(logits: Tensor) -> tuple[float, float, float]:
    """An identifier's `calibration`, from trials whose first candidate is right.

    A match is fitted on pairs of which half match: the right candidate and one of the wrong ones. Its offset is needed
    where training has seen other mismatches than these, such as similar images.
    """
    pairs = logits[:, :2].numpy()
    match = fit_scaling(pairs.ravel(), np.tile([True, False], len(pairs)))
    return *match, fit_temperature(logits.numpy(), np.zeros(len(logits), int))


def measure_identification(model: Identifier, source: Examples, *, n_trials: int = DEV_TRIALS) -> dict[str, float]:
    """Percent identified among two and ten, the cross-entropy of the latter, and how far probabilities are off."""
    n_candidates = min(N_CANDIDATES, len(source.collection))
    logits = score_trials(model, source, draw_trials(source.image_of, n_trials, n_candidates))
    match = model.match_probability(logits[:, :2]).numpy()
    choice = model.choice_probability(logits)
    return {
        "of_2": identification_accuracy(logits[:, :2]),
        "of_10": identification_accuracy(logits),
        "cross_entropy": float(-choice[:, 0].clamp(min=1e-12).log().mean()),
        "match_error": expected_calibration_error(match.ravel(), np.tile([True, False], len(match))),
    }
