"""Learning to rank: the task of every matcher.

A batch is taken from one collection. Of a collection with images it holds sentences with their images; of one that
has sentences alone it holds two sentences of the same image, which have to find each other. Other sentences of an
image in the batch are never counted against it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seesay.data.examples import Examples, Indices
from seesay.images.features import Features
from seesay.layers.sequences import Sequences
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Matcher
from seesay.models.hubness import HUBNESS, estimate_hubness
from seesay.scoring import encode_all, score_all
from seesay.training.distributed import gather_shards, gather_with_own_gradient, spread_over_processes
from seesay.training.losses import ranking_loss
from seesay.training.recipe import Recipe
from seesay.training.sources import SourceTask
from seesay.training.task import Loss, register_task


@dataclass(frozen=True)
class Batch:
    """A whole batch: which source, which of its images, which sentences."""

    source: int
    images: Indices
    texts: list[str]
    partners: list[str] | None = None

    def positives(self, world: int) -> Tensor:
        """Which of its rows are of the same image, as the processes gather them: (n, n)."""
        order = torch.from_numpy(np.concatenate([self.images[part::world] for part in range(world)]))
        return order.unsqueeze(1) == order


@register_task("ranking")
class RankingTask(SourceTask[Matcher]):
    """A matcher, the collections it learns from, and the collection it is measured on."""

    evaluates_together = True

    def __init__(self, model: Matcher, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None:
        super().__init__(model, sources, dev, recipe)
        self._loss = ranking_loss(recipe.loss)

    def batch(self, epoch: int, index: int) -> Batch:
        place, examples = self._batches.take(epoch, index)
        source = self.sources[place]
        if source.table is not None:
            return Batch(place, source.image_of[examples], [source.sentences[example] for example in examples])
        first = source.first_of
        ends = np.append(first[1:], len(source.sentences))
        generator = np.random.default_rng([self.recipe.seed, epoch, index])
        pairs = [generator.choice(np.arange(first[e], ends[e]), 2, replace=False) for e in examples]
        texts, partners = ([source.sentences[pair[side]] for pair in pairs] for side in (0, 1))
        return Batch(place, examples, texts, partners)

    def loss(self, batch: Batch, rank: int, world: int) -> Loss:
        model = self.model
        sides = self._encode_sides(batch, slice(rank, None, world), model.encode_images, model.encode_texts)
        images, texts = (gather_rows(side, rank, world) for side in sides)
        positives = batch.positives(world)
        scores, own_cost = self.model.judge(images, texts, positives)
        ranking = self._loss(scores, positives)
        if own_cost is None:
            return Loss.of_whole_batch(ranking, world)
        return Loss.of_whole_batch(ranking + own_cost, world, ranking=float(ranking.detach()))

    def _encode_sides(
        self,
        batch: Batch,
        own: slice,
        encode_images: Callable[[Features], Any],
        encode_texts: Callable[[Sequence[str]], Any],
    ) -> tuple[Any, Any]:
        """The images of a batch, or sentences that take their place, and its texts, both encoded."""
        texts = encode_texts(batch.texts[own])
        if batch.partners is not None:
            return encode_texts(batch.partners[own]), texts
        table = self.sources[batch.source].table
        assert table is not None
        return encode_images(table.rows(batch.images[own].tolist())), texts

    def finalize(self) -> None:
        """Nothing but the weights is learned."""

    def save_extras(self, folder: Path) -> None:
        """Write the hubness of an embedding, by the first images it learned from, and what the model itself has."""
        self.model.save_extras(folder)
        source = next((source for source in self.sources if source.table is not None), None)
        if self.model.is_embedding and source is not None:
            vectors = encode_all(self.model, source)
            estimate_hubness(*vectors, self.recipe.loss.temperature).write(folder / HUBNESS)

    def measure(self, model: Matcher) -> dict[str, Any]:
        """The retrieval figures of finished weights on dev."""
        return dict(retrieval_report(score_all(model, self.dev), self.dev.image_of))

    def evaluate(self) -> dict[str, float]:
        dev = self.dev.first(self.model.n_dev_images) if self.model.n_dev_images else self.dev
        spread = spread_over_processes
        report = retrieval_report(score_all(self.model, dev, spread=spread, encoding=spread), dev.image_of)
        figures = {"sum": report["sum"]}
        for direction in ("i2t", "t2i"):
            for key in ("r1", "r5", "r10", "median"):
                figures[f"{direction}_{key}"] = report[direction][key]
        return figures


def gather_rows(side: Any, rank: int, world: int) -> Any:
    """Join what the encoders of all processes gave, in the order of their ranks; gradients flow into the own rows."""
    if not isinstance(side, Sequences):
        return gather_with_own_gradient(side, rank, world)
    lengths = torch.cat(gather_shards(side.lengths, world))
    missing = int(lengths.max()) - side.words.shape[1]  # each process pads to the longest of its own rows
    return Sequences(
        gather_with_own_gradient(F.pad(side.states, (0, 0, 0, missing)), rank, world),
        torch.cat(gather_shards(F.pad(side.words, (0, missing)), world)),
        lengths,
    )
