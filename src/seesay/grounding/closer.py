"""A closer look at an image: five crops that a network sees as large as it sees the whole.

A map of ten cells along a side says little about small things, and what is small in the whole image is hardly larger
than a cell. Each crop has a map of its own. Read together, these are one map that is twice as fine. It costs as many
passes of the network as there are crops, whatever number of phrases is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from seesay.grounding.heat import Floats, point_at
from seesay.images.arrays import ImageFeatures
from seesay.images.crops import cut_out
from seesay.images.feature_store import FeatureSource, content_key
from seesay.images.io import open_image
from seesay.images.regions import Boxes
from seesay.images.store import Array, RowStore
from seesay.settings.grounding import GroundingSettings
from seesay.system.files import cache_dir

FINER = 2
"""Cells of the joined map along each side, for one of a crop's map."""
RIM = 0.25
"""Of a crop: what lies nearer to where it was cut counts for less, as the network does not see what is beyond."""
LEAST = 0.02
"""What the cut itself counts for, as a share of `RIM`, so that every place is seen by some crop."""

SHARD = 32
"""Images whose crops are written together."""

See = Callable[[Sequence[Image.Image]], ImageFeatures]
Locate = Callable[[ImageFeatures], Floats]


@dataclass(frozen=True)
class Closer:
    """Crops of one image.

    Attributes:
        features: (n, …) with the map of each.
        boxes: (n, 4) where they are.
    """

    features: ImageFeatures
    boxes: Boxes

    def heat(self, locate: Locate) -> Floats:
        """The joined heat maps: from the features of a crop to its maps (n, h, w), then (n, 2h, 2w)."""
        return join_maps(np.stack([locate(self.features.rows([row])) for row in range(len(self.boxes))]), self.boxes)


def crop_boxes(side: float) -> Boxes:
    """A crop in each corner of an image, and one in its middle.

    Args:
        side: Of the crops, as a share of the image's own.

    Example:
        >>> crop_boxes(0.5).tolist()[1:4:2]
        [[0.5, 0.0, 1.0, 0.5], [0.5, 0.5, 1.0, 1.0]]
    """
    starts = [(x, y) for y in (0.0, 1 - side) for x in (0.0, 1 - side)] + [((1 - side) / 2,) * 2]
    return np.array([[x, y, min(1.0, x + side), min(1.0, y + side)] for x, y in starts], np.float32)


def look_closer(image: Image.Image, side: float, see: See) -> Closer | None:
    """What a network sees of the crops of an opened image; None where it is to be seen as a whole alone (side 0)."""
    if not side:
        return None
    boxes = crop_boxes(side)
    return Closer(see([cut_out(image, box) for box in boxes]), boxes)


class Closeups:
    """The crops of many images, computed where the store does not hold them; images are opened as they are asked for.

    Args:
        paths: Images.
        side: As for `look_closer`; with 0 there is nothing to compute.
        source: The network.
        root: The folder of the store, where it is not the user's own.
    """

    def __init__(self, paths: Sequence[Path], side: float, source: FeatureSource, root: Path | None = None) -> None:
        self._side, self._source, self._boxes = side, source, crop_boxes(side)
        self._keys = [content_key(path) for path in paths] if side else []
        self._paths = dict(zip(self._keys, paths, strict=bool(side)))
        folder = (root or cache_dir() / "features") / source.name / f"closer-{side:g}"
        self._stores = {name: RowStore(folder / name, must_keep=False) for name in ("pooled", "map")} if side else {}
        self._see: Callable[[Sequence[Image.Image]], dict[str, Array]] | None = None

    def __getitem__(self, place: int) -> Closer | None:
        """Of the image in this place; None with side 0."""
        if not self._side:
            return None
        key = self._keys[place]
        if self._missing([key]):
            self._compute(self._missing(self._keys[place:])[:SHARD])
        rows = {name: store.read([key])[0] for name, store in self._stores.items()}
        return Closer(ImageFeatures.of(rows), self._boxes)

    def _missing(self, keys: Sequence[str]) -> list[str]:
        absent = {key for store in self._stores.values() for key in store.missing(keys)}
        return [key for key in dict.fromkeys(keys) if key in absent]

    def _compute(self, keys: Sequence[str]) -> None:
        self._see = self._see or self._source.ready()
        at_least = int(np.ceil(self._source.pixels / self._side))
        seen = []
        for key in keys:
            image = open_image(self._paths[key], at_least=at_least)
            seen.append(self._see([cut_out(image, box) for box in self._boxes]))
        for name, store in self._stores.items():
            store.write(keys, np.stack([rows[name] for rows in seen]))


def heat_of(features: ImageFeatures, closer: Closer | None, locate: Locate) -> Floats:
    """Heat maps of one image, by its crops where it was looked at again."""
    return locate(features) if closer is None else closer.heat(locate)


def points_of(heat: Floats, how: GroundingSettings, closer: Closer | None) -> Floats:
    """The point of each heat map of `heat_of`: (n, 2)."""
    return point_at(heat, how.blur * (1 if closer is None else FINER))


def join_maps(maps: Floats, boxes: Boxes) -> Floats:
    """Maps of crops that cover an image as maps of the image: (N, n, h, w), (N, 4) → (n, 2h, 2w).

    Where crops overlap, each counts the more, the farther a place is from where it was cut.

    Example:
        >>> halves = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
        >>> join_maps(np.array([[[[1.0]]], [[[3.0]]]]), halves).tolist()
        [[[1.0, 3.0], [1.0, 3.0]]]
    """
    _, n, height, width = maps.shape
    sums, weights = np.zeros((n, FINER * height, FINER * width)), np.zeros((FINER * height, FINER * width))
    for own, (left, top, right, bottom) in zip(maps, boxes.astype(np.float64), strict=True):
        down, rows = _along(top, bottom, height)
        across, columns = _along(left, right, width)
        weight = rows[:, None] * columns
        sums += weight * (down @ own @ across.T)
        weights += weight
    joined: Floats = sums / weights
    return joined


def _along(start: float, end: float, n: int) -> tuple[Floats, Floats]:
    """How the places along a side of an image follow from the n cells of a crop, and what each counts for.

    Returns:
        (2n, n) weights of linear interpolation, and (2n,) zero outside of the crop.
    """
    places = ((np.arange(FINER * n) + 0.5) / (FINER * n) - start) / (end - start)
    at = (places * n - 0.5).clip(0, n - 1)
    first = np.minimum(at.astype(int), max(n - 2, 0))
    steps = np.zeros((len(places), n))
    rows = np.arange(len(places))
    steps[rows, first] = 1.0 - (at - first)
    steps[rows, np.minimum(first + 1, n - 1)] += at - first
    rim = np.minimum(places if start > 0 else 1.0, (1 - places) if end < 1 else 1.0)
    inside = (places >= 0) & (places <= 1)
    counts: Floats = np.where(inside, np.clip(rim / RIM, LEAST, 1.0), 0.0)
    return steps, counts
