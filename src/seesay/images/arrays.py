"""The features of images as plain arrays, and the attention and saliency behind a score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError

OUTPUTS = ("pooled", "map")
"""What a network gives. Besides, the name of a region scheme (`windows-20`) stands for the means over its regions."""
LOWER = "lower"
"""What a model asks for whose upper half of the network is its own (`seesay.images.activations`)."""

Floats = NDArray[np.float32]
Boxes = NDArray[np.float32]
Array = NDArray[np.float16]
Rows = dict[str, Array]
"""Features by the name of their output as they are stored, a row for each image."""
Numbers = TypeVar("Numbers")
"""Tensors where torch computes, NumPy arrays elsewhere."""


@dataclass(frozen=True)
class ImageFeatures:
    """The features of images, as `seesay.images.features.Features` has them for torch.

    Attributes:
        pooled: (n, D), one vector an image.
        map: (n, h, w, C), the final map.
        parts: (n, N, C), the means over the regions of a fixed scheme.
        classes: (n, 1000), ImageNet's logits, where the network has them.
        lower: (n, h, w, C), activations of the network's lower half, for weights whose upper half is their own.
        crops: (n, N, D), what a model makes of crops, each shown alone, for explanations that want them.
        boxes: (n, N, 4), where these crops are, as fractions of the image.
    """

    pooled: Floats
    map: Floats | None = None
    parts: Floats | None = None
    classes: Floats | None = None
    lower: Floats | None = None
    crops: Floats | None = None
    boxes: Boxes | None = None

    @classmethod
    def of(cls, rows: Mapping[str, Array]) -> "ImageFeatures":
        """From arrays by the name of their output, as they are stored; one region scheme at most."""
        return cls(**{name if name in OUTPUTS else "parts": row.astype(np.float32) for name, row in rows.items()})

    @classmethod
    def join(cls, several: Sequence["ImageFeatures"]) -> "ImageFeatures":
        """Those of some images, then those of others."""
        if not several:
            return cls(np.zeros((0, 0), np.float32))
        names = [field.name for field in fields(cls) if getattr(several[0], field.name) is not None]
        return cls(**{name: np.concatenate([getattr(each, name) for each in several]) for name in names})

    def __len__(self) -> int:
        return len(self.pooled)

    def rows(self, rows: Sequence[int] | slice) -> "ImageFeatures":
        """Those of some of the images."""
        wanted: Any = rows if isinstance(rows, slice) else list(rows)
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return ImageFeatures(**{name: part[wanted] for name, part in parts.items() if part is not None})

    def cells(self, *, maps: bool = False) -> "ImageFeatures":
        """Every cell of the maps as an image of its own; with `maps`, of which every region shows the same."""
        if self.map is None:
            raise ValueError("these features hold no map: ask the store for the output 'map'")
        _, height, width, channels = self.map.shape
        vectors = self.map.reshape(-1, channels)
        same = np.tile(vectors[:, None, None], (1, height, width, 1)) if maps else None
        return ImageFeatures(vectors, same)

    def regions(self, boxes: Boxes) -> Floats:
        """The mean of the map over each region, fractions of the image (N, 4): (n, N, C).

        Example:
            >>> quarters = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32).reshape(1, 2, 2, 1)
            >>> boxes = np.array([[0, 0, 1, 1], [0.5, 0, 1, 1]], np.float32)
            >>> ImageFeatures(np.zeros((1, 1), np.float32), quarters).regions(boxes).ravel().tolist()
            [2.5, 3.0]
        """
        if self.map is None:
            raise ValueError("these features hold no map: ask the store for the output 'map'")
        from seesay.images.regions import region_weights  # which a text query never needs

        n, height, width, channels = self.map.shape
        weights = region_weights(boxes, height, width)  # (N, h · w)
        means: Floats = np.matmul(weights, self.map.reshape(n, height * width, channels))
        return means


def pool_map(maps: Array, scheme: str) -> Array:
    """The means of stored maps (n, h, w, C) over the regions of a scheme: (n, N, C)."""
    from seesay.images.regions import fixed_regions

    return ImageFeatures.of({"pooled": maps[:, 0, 0], "map": maps}).regions(fixed_regions(scheme)).astype(np.float16)


def check_outputs(outputs: Sequence[str], crop: str = "squash") -> None:
    """Refuse outputs that nothing can give."""
    from seesay.images.regions import fixed_regions

    for output in outputs:
        if output not in OUTPUTS:
            try:
                fixed_regions(output)
            except SeesayError as error:
                raise SeesayError(
                    f"there is no output {output!r}",
                    allowed=f"{', '.join(OUTPUTS)}, or a region scheme: {error.allowed}",
                ) from error
        if crop == "ten-crop" and output != "pooled":
            raise SeesayError("ten crops have no common map", allowed="outputs pooled, or crop squash or mirror")


@dataclass(frozen=True)
class Looked(Generic[Numbers]):
    """The attention of a model in every pair of K images and L sentences, step by step.

    Attributes:
        scores: (K, L).
        regions: (T, K, L, I) the share of each region of an image, p of sm-LSTM's Eq. 1.
        words: (T, K, L, J) the share of each word, q of the same.
    """

    scores: Numbers
    regions: Numbers
    words: Numbers


@dataclass(frozen=True)
class Saliency(Generic[Numbers]):
    """What a match rests on, for pairs of an image and a sentence.

    Attributes:
        logits: (n,) of P(match).
        maps: (n, h, w) the probability of each cell of the image's map.
        words: (n, T) the probability of each word; 0 behind a sentence's end.
    """

    logits: Numbers
    maps: Numbers
    words: Numbers
