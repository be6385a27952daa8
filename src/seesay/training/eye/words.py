"""The eye learns together with a sentence encoder over whole words.

A batch is photos of one collection with some of their captions, or, of a source that has sentences alone, captions that
have to find another caption of their photo: an encoder that starts from nothing overfits less so.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from seesay.data.examples import Examples
from seesay.models.eye.words import EyeWords
from seesay.models.hubness import HUBNESS, estimate_hubness
from seesay.scoring import encode_all
from seesay.training.eye.photos import PhotoBatch, PhotoBatches
from seesay.training.ranking import RankingTask, gather_rows
from seesay.training.recipe import Recipe
from seesay.training.task import Loss, register_task

N_FOR_HUBNESS = 500
"""Photos by which hubness is measured."""


@register_task("eye-words")
class EyeWordsTask(RankingTask):
    """The eye and its sentence encoder, the collections they learn from, and the one they are measured on."""

    def __init__(self, model: EyeWords, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None:
        super().__init__(model, sources, dev, recipe)
        self.eye = model
        self._photos = PhotoBatches(sources, recipe, model.config)

    def n_batches(self, epoch: int) -> int:
        return self._photos.count(epoch)

    def batch(self, epoch: int, index: int) -> PhotoBatch:  # type: ignore[override]
        return self._photos.take(epoch, index)

    def loss(self, batch: PhotoBatch, rank: int, world: int) -> Loss:  # type: ignore[override]
        own = slice(rank, None, world)
        table = self.sources[batch.source].table
        if table is None:
            first, batch = batch.without_first_captions()
            sought = self.eye.encode_texts(first[own])
        else:
            lower = table.rows(batch.images[own].tolist()).lower
            assert lower is not None
            with torch.set_grad_enabled(self.eye.config.learns_eye):
                pooled = self.eye.feature_map(batch.view.of(lower, own)).mean((2, 3))
            sought = self.eye.embed_images(pooled)
        texts = self.eye.encode_texts(batch.texts[own])
        sought, texts = (gather_rows(side, rank, world) for side in (sought, texts))
        positives = batch.positives(np.arange(len(batch.images)), world)
        return Loss.of_whole_batch(self._loss(sought @ texts.T, positives), world)

    def save_extras(self, folder: Path) -> None:
        """Write the hubness, by the first photos it learned from."""
        source = next(source for source in self.sources if source.table is not None)
        vectors = encode_all(self.eye, source.first(N_FOR_HUBNESS))
        estimate_hubness(*vectors, self.recipe.loss.temperature).write(folder / HUBNESS)
