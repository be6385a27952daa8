"""Alternating learning: finding the region of each phrase, and training on these pairs, in turns (HM-LSTM Fig. 3).

1. For `coarse_epochs` only sentences and images are ranked.
2. Then, every `round_epochs`: (a) each noun phrase of every training sentence takes the region of its image that fits
   it best, and the fit is the confidence of this correspondence; (b) sentences with images and phrases with regions
   are ranked together, each phrase weighing as much as its confidence (Eq. 10). With `bag_weight` sentences and
   images are also ranked by phrases and regions alone, where each phrase takes the best region of every image.

Eq. 9 leaves open what a pair is held against. Here it is the other pairs of the mini-batch, but never one of the same
image, nor a phrase of the same words.

The correspondences of a round are buffers of the model while it learns, so that they are part of every checkpoint and a
resumed run goes on with those it had; they are removed before the weights are kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from seesay.data.examples import Examples, Indices
from seesay.grounding.phrases import MIN_COUNT, MOST, PHRASES, gather_phrases, write_phrases
from seesay.images.extraction import FeatureTable, features_of
from seesay.layers.alignment_score import sum_of_max
from seesay.layers.dropout import without_dropout
from seesay.models.hmlstm import HMLSTM
from seesay.scoring import find_correspondences
from seesay.training.distributed import gather_shards, gather_with_own_gradient
from seesay.training.ranking import Batch, RankingTask, gather_rows
from seesay.training.recipe import LossRecipe, Recipe
from seesay.training.task import Loss, register_task


@dataclass(frozen=True)
class PhraseBatch(Batch):
    """A batch that also knows which sentences of its source it holds."""

    examples: Indices | None = None


@register_task("alternating")
class AlternatingTask(RankingTask):
    """A model of phrases and regions, the collections it learns from, and the collection it is measured on."""

    def __init__(self, model: HMLSTM, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None:
        super().__init__(model, sources, dev, recipe)
        self._first: list[Indices] = []  # of each source: where the phrases of each sentence begin, and the end
        n_phrases = 0
        for source in self.sources:
            readings = [] if source.table is None else model.read(source.sentences)
            ends = np.cumsum([len(reading.nouns) for reading in readings], dtype=np.int64)
            self._first.append(n_phrases + np.append(0, ends))
            n_phrases = int(self._first[-1][-1])
        self._maps: list[FeatureTable | None] = [
            features_of(source.collection.images, model.feature_spec, ("pooled", "map"))
            if source.table is not None and model.config.match == "heat"
            else None
            for source in self.sources
        ]
        model.register_buffer(_REGION, torch.zeros(n_phrases, dtype=torch.int16))
        model.register_buffer(_CONFIDENCE, torch.zeros(n_phrases))

    @property
    def model(self) -> HMLSTM:
        return cast(HMLSTM, self._model)

    def begins_round(self, epoch: int) -> bool:
        """Whether correspondences are looked for before this epoch, counted from 0."""
        config = self.model.config
        return epoch >= config.coarse_epochs and (epoch - config.coarse_epochs) % config.round_epochs == 0

    def batch(self, epoch: int, index: int) -> Batch:
        batch = super().batch(epoch, index)
        if epoch < self.model.config.coarse_epochs:
            return batch
        if index == 0 and self.begins_round(epoch):
            self.match()
        if batch.partners is not None:
            return batch
        _, examples = self._batches.take(epoch, index)
        return PhraseBatch(batch.source, batch.images, batch.texts, examples=examples)

    def match(self) -> None:
        """Give every noun phrase of the training sentences its best region and the confidence in it (section 3.3)."""
        for source, first, maps in zip(self.sources, self._first, self._maps, strict=True):
            if source.table is not None:
                parts_only = self.model.config.parts_only
                region, confidence = find_correspondences(self.model, source, maps, parts_only=parts_only)
                self._buffer(_REGION)[first[0] : first[-1]] = region.to(torch.int16)
                self._buffer(_CONFIDENCE)[first[0] : first[-1]] = confidence

    def loss(self, batch: Batch, rank: int, world: int) -> Loss:
        if not isinstance(batch, PhraseBatch) or batch.examples is None:
            return self._coarse_loss(batch, rank, world)
        own = slice(rank, None, world)
        source, first = self.sources[batch.source], self._first[batch.source]
        assert source.table is not None
        ranges = [np.arange(first[example], first[example + 1]) for example in batch.examples[own]]
        places = torch.from_numpy(np.concatenate(ranges) if ranges else np.zeros(0, np.int64))  # (P,)
        texts = self.model.encode_trees(batch.texts[own])
        features = source.table.rows(batch.images[own].tolist())
        region = self._buffer(_REGION)[places].long()
        images, regions, shown = self.model.encode_for_training(features, texts.owner, region, self._show(batch))
        image_ids = torch.from_numpy(batch.images[own])[texts.owner]
        image_ids, keys, weights = (
            torch.cat(gather_shards(part, world)) for part in (image_ids, texts.keys, self._buffer(_CONFIDENCE)[places])
        )
        images, sentences, regions, phrases = (
            gather_with_own_gradient(part, rank, world) for part in (images, texts.sentences, regions, texts.phrases)
        )
        positives = batch.positives(world)
        coarse = self._loss(images @ sentences.T, positives)
        if not len(phrases):  # no sentence of the batch names anything
            return Loss.of_whole_batch(coarse, world, sentence_loss=float(coarse.detach()))
        neutral = (image_ids.unsqueeze(1) == image_ids) | (keys.unsqueeze(1) == keys)
        fine = pair_loss(regions @ phrases.T, neutral, weights, self.recipe.loss)
        total = coarse + self.model.config.phrase_weight * fine
        logs = {"sentence_loss": float(coarse.detach()), "phrase_loss": float(fine.detach())}
        if self.model.config.bag_weight:
            bags = gather_rows(texts.bags(), rank, world)
            by_bag = self._loss(sum_of_max(gather_with_own_gradient(shown, rank, world), bags), positives)
            total = total + self.model.config.bag_weight * by_bag
            logs["bag_loss"] = float(by_bag.detach())
        return Loss.of_whole_batch(total, world, **logs)

    def _coarse_loss(self, batch: Batch, rank: int, world: int) -> Loss:
        """Of whole sentences, with their images or with one another."""
        model = self.model
        sides = self._encode_sides(batch, slice(rank, None, world), model.embed_images, model.embed_texts)
        images, texts = (gather_with_own_gradient(side, rank, world) for side in sides)
        return Loss.of_whole_batch(self._loss(images @ texts.T, batch.positives(world)), world)

    def _show(self, batch: Batch) -> Tensor:
        """The regions that phrases choose from in this batch, the same for every process."""
        config = self.model.config
        if not config.bag_weight:
            return torch.zeros(0, dtype=torch.int64)
        n_others = len(self.model.boxes) - 1
        generator = torch.Generator().manual_seed(int(batch.images.sum()))
        n_kept = round(n_others * (1 - config.region_dropout))
        return torch.cat(
            [torch.zeros(1, dtype=torch.int64), 1 + torch.randperm(n_others, generator=generator)[:n_kept]]
        )

    def evaluate(self) -> dict[str, float]:
        self.calibrate()
        return super().evaluate()

    @torch.no_grad()
    def calibrate(self, n_batches: int = 16) -> None:
        """Take the statistics of batch normalisation from the weights as they are.

        Weights that are averaged over steps never ran through a batch together, and statistics of other weights are
        wrong for them.
        """
        norms = [module for module in self.model.modules() if isinstance(module, nn.BatchNorm1d)]
        if not norms:
            return
        momenta = [norm.momentum for norm in norms]
        with without_dropout(self.model):
            for norm in norms:
                norm.reset_running_stats()
                norm.momentum = None  # the mean over all batches
                norm.train()
            for batch in self._with_images(n_batches):
                self.loss(batch, 0, 1)
            for norm, momentum in zip(norms, momenta, strict=True):
                norm.momentum = momentum

    def _with_images(self, n: int) -> Iterator[Batch]:
        """The first batches with images; with phrases as soon as correspondences were looked for."""
        is_fine = bool(self._buffer(_CONFIDENCE).any())
        for index in range(self.n_batches(0)):
            batch = super().batch(0, index)
            if batch.partners is None and n > 0:
                n -= 1
                _, examples = self._batches.take(0, index)
                yield PhraseBatch(batch.source, batch.images, batch.texts, examples=examples if is_fine else None)

    def finalize(self) -> None:
        """Take the correspondences off the model: they are no part of what it knows."""
        for name in (_REGION, _CONFIDENCE):
            delattr(self.model, name)

    def save_extras(self, folder: Path) -> None:
        """Write what training sentences name: a region is described by what people have said."""
        sentences = {source.collection.fingerprint(): source.sentences for source in self.sources}
        every = [sentence for some in sentences.values() for sentence in some]
        write_phrases(gather_phrases(every, min_count=MIN_COUNT)[:MOST], folder / PHRASES)

    def _buffer(self, name: str) -> Tensor:
        buffer: Tensor = getattr(self.model, name)
        return buffer


def pair_loss(scores: Tensor, neutral: Tensor, weights: Tensor, choice: LossRecipe) -> Tensor:
    """The loss over phrase-region pairs, each weighing as much as its confidence (Eqs. 9 and 10).

    Args:
        scores: (P, P) how well region k and phrase l fit; pairs lie on the diagonal.
        neutral: (P, P) bool, what is never held against each other; the diagonal is.
        weights: (P,) 0 or more.
        choice: `hinge-sum` is Eq. 9; `hinge-hardest` and `softmax` are those of `seesay.training.losses`.

    Returns:
        The weighted mean over pairs; both directions add up in a hinge and are averaged in a softmax.

    Example:
        >>> scores = torch.tensor([[1.0, 0.75], [0.0, 0.5]])
        >>> hinge = LossRecipe("hinge-sum", margin=0.25)
        >>> pair_loss(scores, torch.eye(2, dtype=torch.bool), torch.tensor([1.0, 1.0]), hinge)  # 0 and 0.5
        tensor(0.2500)
        >>> pair_loss(scores, torch.eye(2, dtype=torch.bool), torch.tensor([1.0, 0.0]), hinge)
        tensor(0.)
    """
    own = scores.diagonal()  # (P,)
    costs = torch.zeros_like(own)
    for side, barred in ((scores, neutral), (scores.T, neutral.T)):
        if choice.name == "softmax":
            # The lowest finite number instead of −inf: a pair without rivals then costs 0 with a gradient of 0.
            rivals = (side / choice.temperature).masked_fill(barred, torch.finfo(side.dtype).min)
            costs = costs + 0.5 * functional.softplus(rivals.logsumexp(1) - own / choice.temperature)
        else:
            lacking = (choice.margin - own.unsqueeze(1) + side).clamp(min=0).masked_fill(barred, 0)  # (P, P)
            costs = costs + (lacking.sum(1) if choice.name == "hinge-sum" else lacking.amax(1))
    return (weights * costs).sum() / weights.sum().clamp(min=_TINY)


_REGION, _CONFIDENCE = "matched_region", "matched_confidence"
_TINY = 1e-12
