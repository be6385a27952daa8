"""The learning task of captioners.

The cost is the mean number of bits a word costs given its image and the words before it (m-RNN Eq. 6, in nats), over
the words and ends of sentence of the batch. A captioner that is to be used without sums over the words also pays for
the logarithm of that sum. With `loss.name = "cider"` it is self-critical (`seesay.training.self_critical`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F

from seesay.captioning.decoding import greedy
from seesay.captioning.reranking import FREQUENCIES, KNOWS_RARE
from seesay.data.examples import Examples, Indices
from seesay.engines import answering
from seesay.images.features import Features
from seesay.layers.dropout import without_dropout
from seesay.metrics.captions import caption_report
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.models.base import Captioner, Matcher
from seesay.scoring import measure_perplexity, read_rows
from seesay.text.tokens import tokenize
from seesay.training.recipe import Recipe
from seesay.training.self_critical import Rewards, advantages, caption_words, draw_captions
from seesay.training.sources import SourceTask, require_images
from seesay.training.task import Loss, MoreDev, register_task


@dataclass(frozen=True)
class Batch:
    """A whole batch: which source, which of its images, which sentences."""

    source: int
    images: Indices
    texts: list[str]
    seed: int = 0


@register_task("captioning")
class CaptioningTask(SourceTask[Captioner], MoreDev):
    """A captioner, the collections it learns from, and those it is measured on."""

    def __init__(self, model: Captioner, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None:
        require_images(sources, recipe, "a captioner")
        super().__init__(model, sources, dev, recipe)
        self._rewards = cache(lambda place: Rewards(self.sources[place]))

    def batch(self, epoch: int, index: int) -> Batch:
        place, examples = self._batches.take(epoch, index)
        source = self.sources[place]
        texts = [source.sentences[example] for example in examples]
        seed = np.random.SeedSequence([self.recipe.seed, epoch, index]).generate_state(1)
        return Batch(place, source.image_of[examples], texts, int(seed[0]))

    def loss(self, batch: Batch, rank: int, world: int) -> Loss:
        if self.recipe.loss.name == "cider":
            return self._self_critical_loss(batch, rank, world)
        own = slice(rank, None, world)
        images = self.model.encode_images(read_rows(self.sources[batch.source], batch.images[own].tolist()))
        logits, wanted, _ = self.model.word_logits(images, batch.texts[own])
        _, _, lengths = self.model.predicted_rows(batch.texts)
        n_words = int(lengths.sum())
        cost = F.cross_entropy(logits, wanted, reduction="sum")
        if self.model.self_normalise:
            cost = cost + self.model.self_normalise * logits.logsumexp(-1).square().sum()
        return Loss.of_own_part(cost / n_words, world)

    def _self_critical_loss(self, batch: Batch, rank: int, world: int) -> Loss:
        """Captions drawn of each photo, weighted by how much better they are than the others of the same photo."""
        how, photos = self.recipe.loss, batch.images[rank::world]
        features = read_rows(self.sources[batch.source], photos.tolist())
        with without_dropout(self.model):
            images = self.model.encode_images(features).repeat_interleave(how.samples, 0)
            generator = torch.Generator().manual_seed(batch.seed + rank)
            rows, log_probs = draw_captions(
                self.model, images, generator, temperature=how.draw_temperature, shortest=how.shortest
            )
            owners = np.repeat(photos, how.samples).tolist()
            found = self._rewards(batch.source)(caption_words(self.model, rows), owners)
            cost = -(advantages(found.reshape(-1, how.samples)).flatten() * log_probs).sum()
        n = len(batch.images) * how.samples
        return Loss.of_own_part(cost / n, world, reward=float(found.mean()))

    def finalize(self) -> None:
        """Give the model what it keeps of training images: up to some thousand, drawn with the recipe's seed."""
        images = [(place, row) for place, source in enumerate(self.sources) for row in range(len(source.table or ()))]
        generator = torch.Generator().manual_seed(self.recipe.seed)
        drawn = torch.randperm(len(images), generator=generator)[:N_KEPT].tolist()
        rows = [read_rows(self.sources[images[index][0]], [images[index][1]]).pooled for index in drawn]
        self.model.finalize(Features(torch.cat(rows)))

    def save_extras(self, folder: Path) -> None:
        """Write how many training images people use an n-gram for: reranking needs it where captions are few."""
        distinct = {source.collection.fingerprint(): source.collection for source in self.sources}
        captions = [
            [tokenize(sentence) for sentence in item.sentences]
            for collection in distinct.values()
            for item in collection.items
        ]
        least = MIN_DOCUMENTS if len(captions) >= KNOWS_RARE else 1
        DocumentFrequencies.build(captions, least).save(folder / FREQUENCIES)

    def evaluate(self) -> dict[str, float]:
        """Perplexity of the dev sentences, and the captions that are written greedily: the mean over all dev sets."""
        found = {dev.collection.name: self._measure(self.model, dev) for dev in (self.dev, *self.more_dev)}
        first = found[self.dev.collection.name]
        if not self.more_dev:
            return first
        means = {name: float(np.mean([figures[name] for figures in found.values()])) for name in first}
        return means | {f"cider_{name}": figures["cider"] for name, figures in found.items()}

    def measure(self, model: Matcher) -> dict[str, Any]:
        """The figures of finished weights on dev."""
        return self.measure_on(model, self.dev)

    def measure_on(self, model: Matcher, dev: Examples) -> dict[str, Any]:
        """The figures of finished weights on one of the dev sets."""
        return {"captions": self._measure(cast(Captioner, model), dev)}

    def _measure(self, model: Captioner, dev: Examples) -> dict[str, float]:
        return measure_captions(model, dev, self.recipe.loss.shortest)


N_KEPT = 2000
"""Training images that a captioner is shown when it is finalized."""
MIN_DOCUMENTS = 5
"""Images that an n-gram has to be used for to be counted: rarer ones would make the table ten times as long."""


def measure_captions(model: Captioner, source: Examples, shortest: int = 1) -> dict[str, float]:
    """Perplexity of a source's sentences, and the metrics of the captions that are written greedily.

    Args:
        shortest: Words without which a caption does not end.
    """
    captions = []
    answers = answering(model)
    for start in range(0, len(source.collection), 256):
        rows = range(start, min(start + 256, len(source.collection)))
        images = answers.encode_images(read_rows(source, rows).to_arrays())
        written = greedy(answers, answers.start(images), min_length=shortest)
        captions += [model.vocabulary.decode(found.words) for found in written]
    references = [[tokenize(sentence) for sentence in item.sentences] for item in source.collection.items]
    report = caption_report(captions, references, perplexity=measure_perplexity(model, source), meteor=False)
    return {name: value for name, value in report.items() if isinstance(value, float)}
