"""The ear learns on while the eye stays as it is: on vectors of photos that are computed once.

With the photos' vectors given, a photo costs next to nothing and a sentence what the ear's upper layers cost. So the
sentences of a batch are compared with more photos of their collection than those that they were written about.
"""

import numpy as np

from seesay.data.examples import Indices
from seesay.training.eye.photos import PhotoBatch
from seesay.training.eye.shrinking import pack
from seesay.training.eye_ear import EyeEarTask
from seesay.training.task import Loss, register_task


@register_task("ear")
class EarTask(EyeEarTask):
    """An ear and both linear layers, on vectors of the network `eye-imagenet`."""

    def loss(self, batch: PhotoBatch, rank: int, world: int) -> Loss:  # type: ignore[override]
        table = self.sources[batch.source].table
        assert table is not None
        photos = np.concatenate([batch.images, self.more_photos(batch)])
        places = np.concatenate([np.arange(len(batch.images)), np.full(len(photos) - len(batch.images), -1)])
        pooled = table.rows(photos[rank::world].tolist()).pooled
        images = self.eye.embed_images(pooled[:, : self.eye.project.in_features])
        ranking, logs = self.rank(batch, images, places, rank, world)
        return Loss.of_whole_batch(ranking, world, **logs)

    def more_photos(self, batch: PhotoBatch) -> Indices:
        """Photos of the batch's collection that are not in it, as many as the configuration wants."""
        n = len(self.sources[batch.source].collection)
        others = np.setdiff1d(np.arange(n), batch.images)
        rng = np.random.default_rng([self.recipe.seed, *batch.images[:2].tolist(), len(batch.texts)])
        return rng.choice(others, min(self.eye.config.more_photos, len(others)), replace=False)

    def more_figures(self) -> dict[str, float]:
        """The temperature; of classes there is nothing to tell."""
        return {"temperature": float(self.eye.log_temperature.detach().exp())}

    def finalize(self) -> None:
        """Give the eye its ear as it ships: packed, and looking through the lower half again."""
        self.eye = self._model = pack(self.eye)
