"""Batches of photos, each with a few of its captions: an eye's share of the work is the photos, so each comes once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from seesay.data.examples import Examples, Indices
from seesay.training.batching import count_batches, mixed_batches
from seesay.training.eye.views import View, draw_view, mirror_words
from seesay.training.recipe import Recipe


@dataclass(frozen=True)
class PhotoBatch:
    """A whole batch: which source, which of its photos, and sentences with the place of their photo in the batch."""

    source: int
    images: Indices
    texts: list[str]
    owners: Indices
    view: View

    def positives(self, photos: Indices, world: int) -> Tensor:
        """Which rows belong together as the processes gather them: (n_photos, n_texts).

        Args:
            photos: The place in the batch of every photo of all processes; -1 for one whose captions are not there.
        """
        photo_of_row, owner_of_row = (_in_order_of_ranks(rows, world) for rows in (photos, self.owners))
        return photo_of_row.unsqueeze(1) == owner_of_row

    def without_first_captions(self) -> tuple[list[str], "PhotoBatch"]:
        """The first caption of each photo, and the batch with the others."""
        is_first = np.diff(self.owners, prepend=-1) > 0
        first, others = (
            [text for text, own in zip(self.texts, is_first, strict=True) if own == kept] for kept in (True, False)
        )
        return first, replace(self, texts=others, owners=self.owners[~is_first])


class Shown(Protocol):
    """What a configuration says about what a batch shows of a photo (`seesay.settings.eye_ear`)."""

    @property
    def n_captions(self) -> int: ...
    @property
    def mirrors(self) -> bool: ...
    @property
    def smallest_view(self) -> float: ...


class PhotoBatches:
    """The batches of several sources, each within one of them: functions of the seed, the epoch and their place."""

    def __init__(self, sources: Sequence[Examples], recipe: Recipe, shown: Shown) -> None:
        self._sources, self._recipe, self._shown = list(sources), recipe, shown
        self._weights = [source.weight for source in sources]
        self._of_epoch = lru_cache(maxsize=2)(self._make)

    def _make(self, epoch: int) -> list[tuple[int, Indices]]:
        return mixed_batches(
            [np.zeros(len(source.collection)) for source in self._sources],
            self._recipe.batches.size,
            weights=self._weights,
            seed=self._recipe.seed,
            epoch=epoch,
            bucket_by_length=False,
        )

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""
        counts = [len(source.collection) for source in self._sources]
        return count_batches(counts, self._recipe.batches.size, weights=self._weights, epoch=epoch)

    def take(self, epoch: int, index: int) -> PhotoBatch:
        """One batch, with captions and a view that are drawn anew in every epoch."""
        place, photos = self._of_epoch(epoch)[index]
        items, shown = self._sources[place].collection.items, self._shown
        rng = np.random.default_rng([self._recipe.seed, epoch, index])
        view = draw_view(rng, len(photos), mirrors=shown.mirrors, smallest=shown.smallest_view)
        texts: list[str] = []
        owners: list[int] = []
        for owner, photo in enumerate(photos):
            sentences = items[photo].sentences
            n = min(shown.n_captions, len(sentences))
            chosen = [sentences[place] for place in rng.choice(len(sentences), n, replace=False)]
            texts += map(mirror_words, chosen) if view.mirrored[owner] else chosen
            owners += [owner] * n
        return PhotoBatch(place, photos, texts, np.array(owners), view)


def _in_order_of_ranks(rows: Indices, world: int) -> Tensor:
    return torch.from_numpy(np.concatenate([rows[part::world] for part in range(world)]))
