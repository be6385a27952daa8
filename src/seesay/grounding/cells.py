"""What an image shows in every place, as an aligner's vectors: the one thing that heat of any phrase comes from."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seesay.catalogue.weights import weights_digest
from seesay.grounding.closer import Closer, look_closer
from seesay.grounding.heat import Floats
from seesay.images.arrays import ImageFeatures
from seesay.images.feature_store import content_key
from seesay.images.io import open_image
from seesay.images.regions import whole_and_grid
from seesay.images.store import RowStore
from seesay.runtime.protocol import Answering
from seesay.system.files import cache_dir

Cells = NDArray[np.float32]

SHARD = 32
"""Images whose cells are written together."""


def cells_of(model: Answering, closer: Closer) -> Cells:
    """The vectors of an image's places, joined from its crops as heat is: (D, 2h, 2w).

    Heat is a product with the vectors of places, and joining adds up: products with the joined vectors are joined heat.
    """

    def locate(seen: ImageFeatures) -> Floats:
        if seen.map is None:
            raise ValueError("the vectors of places are of an image with its map")
        _, height, width, _ = seen.map.shape
        vectors = model.encode_regions(seen, whole_and_grid(height, width)[1:])[0]  # (h · w, D)
        places: Floats = vectors.T.reshape(-1, height, width).astype(np.float64)
        return places

    # What is kept is in half precision, and what is computed for one answer is the same.
    return closer.heat(locate).astype(np.float16).astype(np.float32)


def heat_from(cells: Cells, vectors: Cells) -> Floats:
    """The heat of phrases from the vectors of an image's places: (D, S, S), (n, D) → (n, S, S)."""
    dim, height, width = cells.shape
    heat: Floats = (vectors @ cells.reshape(dim, -1)).reshape(-1, height, width).astype(np.float64)
    return heat


class CellMaps:
    """The vectors of the places of many images, computed where the store does not hold them.

    Args:
        model: An aligner, which sees the crops and has the vectors.
        paths: Images.
        side: Of the crops, as a share of an image's own.
        root: The folder of the store, where it is not the user's own.
    """

    def __init__(self, model: Answering, paths: Sequence[Path], side: float, root: Path | None = None) -> None:
        assert model.weights is not None
        self._model, self._side = model, side
        self._keys = [content_key(path) for path in paths]
        self._paths = dict(zip(self._keys, paths, strict=True))
        spec, digest = model.feature_spec, weights_digest(model.weights.folder)[:12]
        folder = (root or cache_dir() / "features") / spec.name / f"closer-{side:g}"
        self._store = RowStore(folder / f"cells-{model.name}-{digest}", must_keep=False)

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, place: int) -> Cells:
        """Of the image in this place: (D, S, S)."""
        key = self._keys[place]
        if self._store.missing([key]):
            todo = dict.fromkeys(self._store.missing(self._keys[place:])[:SHARD])
            self._store.write(list(todo), np.stack([self._compute(each) for each in todo]))
        cells: Cells = self._store.read([key])[0].astype(np.float32)
        return cells

    def _compute(self, key: str) -> Cells:
        at_least = int(np.ceil(self._model.feature_spec.pixels / self._side))
        closer = look_closer(open_image(self._paths[key], at_least=at_least), self._side, self._model.features)
        assert closer is not None
        return cells_of(self._model, closer)
