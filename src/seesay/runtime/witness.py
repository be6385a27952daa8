"""A matcher that judges with what another model has seen, so that an image is looked at once.

A captioner or an aligner on the network `eye-imagenet` has the eye's vector of an image; the eye makes its own of that.
A matcher on the same network as the other model needs no more than its features either.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from seesay.catalogue.weights import UPPER, find, weights_digest
from seesay.errors import SeesayError
from seesay.images.arrays import Floats, ImageFeatures
from seesay.runtime.matching import Model
from seesay.runtime.protocol import Answering


class Witness:
    """A joint embedding that compares sentences with images which another model has seen.

    Args:
        name: Of its weights.
        model: Whose features it takes.

    Raises:
        SeesayError: It sees through another network.
    """

    def __init__(self, name: str, model: Answering) -> None:
        self.name = name
        self._matcher = _open(find(name).folder)
        own, its = (each.weights.about["features"] if each.weights else {} for each in (model, self._matcher))
        self._is_eye = own.get("digest") == weights_digest(self._matcher.graphs.folder, UPPER)
        if not (self._is_eye and self._matcher.can("pooled")) and own != its:
            raise SeesayError(
                f"{name} cannot judge what {model.name} has seen: it sees through another network",
                hint=f"seesay tune {model.name}",
            )

    def see(self, features: ImageFeatures) -> Floats:
        """One vector for each image: (n, D)."""
        if self._is_eye:
            return self._matcher.encode_pooled(np.asarray(features.pooled, np.float32))
        return self._matcher.encode_images(features)

    def see_cells(self, features: ImageFeatures) -> Floats:
        """One vector for each cell of the images' maps, taken for a whole image: (n · h · w, D)."""
        return self.see(features.cells(maps="map" in self._matcher.outputs))

    def read(self, sentences: Sequence[str]) -> Floats:
        """One vector for each sentence, the more alike an image's the better they fit: (n, D)."""
        return np.asarray(self._matcher.encode_texts(sentences))


@lru_cache(maxsize=2)
def _open(folder: Path) -> Model:
    """Opened once in a process: its graphs take longer to open than an answer takes."""
    return Model(folder)
