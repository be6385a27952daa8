"""Batches of photos, each with a few of its captions: an eye's share of the work is the photos, so each comes once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data.examples import Examples, Indices
from seesay.training.batching import count_batches, mixed_batches
from seesay.training.eye.views import View, draw_view, mirror_words
from seesay.training.eye.wrong import WrongSentences
from seesay.training.recipe import Recipe


@dataclass(frozen=True)
class PhotoBatch:
    """A whole batch: which source, which of its photos, and sentences with the place of their photo in the batch.

    Attributes:
        wrong: Which sentences do not fit the photo that they were made for; of others nobody knows.
    """

    source: int
    images: Indices
    texts: list[str]
    owners: Indices
    wrong: NDArray[np.bool_]
    view: View

    def positives(self, photos: Indices, world: int) -> Tensor:
        """Which rows belong together as the processes gather them: (n_photos, n_texts).

        Args:
            photos: The place in the batch of every photo of all processes; -1 for one whose captions are not there.
        """
        return self._own(photos, world) & ~_in_order_of_ranks(self.wrong, world)

    def uncounted(self, photos: Indices, world: int) -> Tensor:
        """Which pairs say nothing: wrong sentences with photos that they were not made for: (n_photos, n_texts)."""
        return _in_order_of_ranks(self.wrong, world) & ~self._own(photos, world)

    def _own(self, photos: Indices, world: int) -> Tensor:
        photo_of_row, owner_of_row = (_in_order_of_ranks(rows, world) for rows in (photos, self.owners))
        return photo_of_row.unsqueeze(1) == owner_of_row

    def without_first_captions(self) -> tuple[list[str], "PhotoBatch"]:
        """The first caption of each photo, and the batch with the others."""
        is_first = np.diff(self.owners, prepend=-1) > 0
        first, others = (
            [text for text, own in zip(self.texts, is_first, strict=True) if own == kept] for kept in (True, False)
        )
        return first, replace(self, texts=others, owners=self.owners[~is_first], wrong=self.wrong[~is_first])


class Shown(Protocol):
    """What a configuration says about what a batch shows of a photo (`seesay.settings.eye_ear`)."""

    @property
    def n_captions(self) -> int: ...
    @property
    def mirrors(self) -> bool: ...
    @property
    def smallest_view(self) -> float: ...


class PhotoBatches:
    """The batches of several sources, each within one of them: functions of the seed, the epoch and their place.

    Args:
        n_wrong: Wrong sentences for each photo (`seesay.training.eye.wrong`).
    """

    def __init__(self, sources: Sequence[Examples], recipe: Recipe, shown: Shown, n_wrong: int = 0) -> None:
        self._sources, self._recipe, self._shown, self._n_wrong = list(sources), recipe, shown, n_wrong
        self._wrong = WrongSentences(text for source in sources for text in source.sentences) if n_wrong else None
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
        said_of: list[tuple[Sequence[str], list[int]]] = []
        for owner, photo in enumerate(photos):
            said = items[photo].sentences
            n = min(shown.n_captions, len(said))
            chosen = rng.choice(len(said), n, replace=False).tolist()
            sentences = list(map(mirror_words, said)) if view.mirrored[owner] else said
            texts += [sentences[place] for place in chosen]
            owners += [owner] * n
            said_of.append((sentences, chosen))
        n_right = len(texts)
        if self._wrong is not None:
            for owner, (sentences, chosen) in enumerate(said_of):
                wrong = self._wrong.draw(sentences, chosen, self._n_wrong, rng)
                texts += wrong
                owners += [owner] * len(wrong)
        return PhotoBatch(place, photos, texts, np.array(owners), np.arange(len(texts)) >= n_right, view)


def _in_order_of_ranks(rows: NDArray[Any], world: int) -> Tensor:
    return torch.from_numpy(np.concatenate([rows[part::world] for part in range(world)]))
