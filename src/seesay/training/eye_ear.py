"""The eye and the ear learn together: the contrastive task, and what keeps ImageNet's classes.

A batch is photos of one collection, each with a few of its captions, drawn anew in every epoch. The loss is the
symmetric softmax over the batch with a learned temperature; wrong sentences about a photo may stand beside the right
ones. For some photos of the batch the network as it started is asked for its ImageNet classes, and the learning one has
to keep saying the same.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.data.examples import Examples, Indices
from seesay.images.halves import split_network
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Matcher
from seesay.models.eye_ear import EyeEar
from seesay.models.hubness import HUBNESS, estimate_hubness
from seesay.scoring import encode_all, score_all
from seesay.training.distributed import spread_over_processes
from seesay.training.eye.photos import PhotoBatch, PhotoBatches
from seesay.training.eye.refitting import refit_classifier, spread_evenly
from seesay.training.eye.shrinking import shrink
from seesay.training.losses import batch_softmax
from seesay.training.ranking import RankingTask, gather_rows
from seesay.training.recipe import Recipe
from seesay.training.sources import require_images
from seesay.training.task import Loss, MoreDev, register_task

LOWEST_TEMPERATURE = 0.01
N_AT_ONCE = 64
N_FOR_CLASSES = 1500
"""Photos by which the ImageNet classifier is refitted."""
N_FOR_HUBNESS = 500
"""Photos by which hubness is measured."""
UNCOUNTED = -100.0
"""A score that takes no part: far below any cosine."""


@register_task("eye-ear")
class EyeEarTask(RankingTask, MoreDev):
    """The eye and the ear, the collections they learn from, and the collections they are measured on."""

    def __init__(self, model: EyeEar, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None:
        require_images(sources, recipe, "an eye")
        super().__init__(model, sources, dev, recipe)
        self.eye = model
        self._photos = PhotoBatches(sources, recipe, model.config, model.config.n_wrong)
        # Made before the first step: building a network draws random numbers, which a resumed run would draw again.
        self._start = nn.Sequential() if model.config.on_vectors else _start_network(model)

    def n_batches(self, epoch: int) -> int:
        return self._photos.count(epoch)

    def batch(self, epoch: int, index: int) -> PhotoBatch:  # type: ignore[override]
        return self._photos.take(epoch, index)

    def loss(self, batch: PhotoBatch, rank: int, world: int) -> Loss:  # type: ignore[override]
        own_photos = slice(rank, None, world)
        table = self.sources[batch.source].table
        assert table is not None
        lower = table.rows(batch.images[own_photos].tolist()).lower
        assert lower is not None
        lower = batch.view.of(lower, own_photos)
        with torch.set_grad_enabled(self.eye.config.learns_eye):
            pooled = self.eye.feature_map(lower).mean((2, 3))
        images = self.eye.embed_images(pooled)
        ranking, logs = self.rank(batch, images, np.arange(len(batch.images)), rank, world)
        config = self.eye.config
        if not (config.classes and config.classes_share and config.learns_eye):
            return Loss.of_whole_batch(ranking, world, **logs)
        classes = self._class_loss(lower, pooled) * config.classes
        total = ranking / world + classes / world
        return Loss(
            total, {"loss": float(ranking.detach() + classes.detach()), **logs, "classes": float(classes.detach())}
        )

    def rank(
        self, batch: PhotoBatch, images: Tensor, photos: Indices, rank: int, world: int
    ) -> tuple[Tensor, dict[str, float]]:
        """The ranking loss of a whole batch, and what to write in the log.

        Args:
            images: Vectors of this process's share of the photos.
            photos: The place in the batch of every photo of all processes; -1 for one whose captions are not there.
        """
        texts = self.eye.encode_texts(batch.texts[rank::world])
        images, texts = (gather_rows(side, rank, world) for side in (images, texts))
        temperature = self.eye.log_temperature.exp().clamp(min=LOWEST_TEMPERATURE)
        scores = (images @ texts.T).masked_fill(batch.uncounted(photos, world), UNCOUNTED)
        loss = batch_softmax(scores, batch.positives(photos, world), temperature)
        return loss, {"ranking": float(loss.detach()), "temperature": float(temperature.detach())}

    def _class_loss(self, lower: Tensor, pooled: Tensor) -> Tensor:
        """The cross-entropy of the learning network's classes with those of the network as it started."""
        n = max(1, round(len(lower) * self.eye.config.classes_share))
        with torch.no_grad():
            wanted = self._start(lower[:n].float().permute(0, 3, 1, 2)).softmax(1)
        return F.cross_entropy(self._classifier(pooled[:n]), wanted)

    def finalize(self) -> None:
        """Keep the subwords of photo talk where the configuration says how many; else refit the ImageNet classifier."""
        if self.eye.config.keep_subwords:
            self.eye = self._model = shrink(self.eye, [text for source in self.sources for text in source.sentences])
        elif self.eye.config.learns_eye and self.eye.config.classes:
            self.refit_classes()

    def save_extras(self, folder: Path) -> None:
        """Write the hubness, by the first photos it learned from."""
        vectors = encode_all(self.eye, self.sources[0].first(N_FOR_HUBNESS))
        estimate_hubness(*vectors, self.eye.temperature).write(folder / HUBNESS)

    def measure_on(self, model: Matcher, dev: Examples) -> dict[str, Any]:
        """The retrieval figures of finished weights."""
        return dict(retrieval_report(score_all(model, dev), dev.image_of))

    @property
    def devs(self) -> tuple[Examples, ...]:
        """All collections that it is measured on."""
        return self.dev, *self.more_dev

    def evaluate(self) -> dict[str, float]:
        """The Sum of recalls on every dev set, and their mean, which decides; how many top-1 classes are kept."""
        figures: dict[str, float] = {}
        spread = spread_over_processes
        for dev in (dev.first(self.eye.n_dev_images) for dev in self.devs):
            report = retrieval_report(score_all(self.eye, dev, spread=spread, encoding=spread), dev.image_of)
            name = dev.collection.name
            figures |= {f"sum_{name}": report["sum"], f"{name}_i2t_r1": report["i2t"]["r1"]}
            figures[f"{name}_t2i_r1"] = report["t2i"]["r1"]
        sums = [figures[f"sum_{dev.collection.name}"] for dev in self.devs]
        return {"sum": sum(sums) / len(sums), **figures, **self.more_figures()}

    def more_figures(self) -> dict[str, float]:
        """What is measured besides retrieval."""
        return {"same_class": self.same_class()}

    @property
    def _classifier(self) -> nn.Linear:
        assert self.eye.classifier is not None  # only a packed eye has none
        return self.eye.classifier

    def refit_classes(self) -> None:
        """Let the ImageNet classifier say again what it said at the start, on photos of every source."""
        places = spread_evenly([len(source.collection) for source in self.sources], N_FOR_CLASSES)
        found = [self._classes_of(source, some) for source, some in zip(self.sources, places, strict=True)]
        pooled, wanted = (torch.cat(parts) for parts in zip(*found, strict=True))
        refit_classifier(self._classifier, pooled, wanted)

    @torch.inference_mode()
    def same_class(self, n: int = 200) -> float:
        """Percent of dev photos whose first ImageNet class is that of the network as it started."""
        pooled, wanted = self._classes_of(self.dev, range(min(n, len(self.dev.collection))))
        return 100 * float((self._classifier(pooled).argmax(1) == wanted.argmax(1)).float().mean())

    @torch.no_grad()
    def _classes_of(self, examples: Examples, photos: range) -> tuple[Tensor, Tensor]:
        """The eye's vectors (n, C) of photos, and the logits (n, 1000) of the network as it started."""
        assert examples.table is not None
        pooled, logits = [], []
        for start in range(0, len(photos), N_AT_ONCE):
            lower = examples.table.rows(photos[start : start + N_AT_ONCE]).lower
            assert lower is not None
            pooled.append(self.eye.feature_map(lower).mean((2, 3)))
            logits.append(self._start(lower.float().permute(0, 3, 1, 2)))
        return torch.cat(pooled), torch.cat(logits)


def _start_network(model: EyeEar) -> nn.Sequential:
    """From activations to the classes of the network as it started."""
    backbone = model.feature_spec.load_backbone()
    _, upper = split_network(backbone)
    assert backbone.classifier is not None
    return nn.Sequential(upper, _Mean(), backbone.classifier).eval().requires_grad_(False)


class _Mean(nn.Module):
    def forward(self, feature_map: Tensor) -> Tensor:
        return feature_map.mean((2, 3))
