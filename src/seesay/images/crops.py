"""Parts of images."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Box = Sequence[float] | NDArray[np.float32]
"""Left, top, right, bottom, as fractions of the image."""


def cut_out(image: Image.Image, box: Box) -> Image.Image:
    """The part of an image inside a box, one pixel or more."""
    width, height = image.size
    left, top, right, bottom = (float(edge) for edge in box)
    x, y = min(int(left * width), width - 1), min(int(top * height), height - 1)
    return image.crop((x, y, max(x + 1, round(right * width)), max(y + 1, round(bottom * height))))


SCALES = (1.0, 2 / 3, 0.45)
"""Sides of square crops, as shares of an image's shorter side."""


def square_crops(width: int, height: int) -> NDArray[np.float32]:
    """Square crops of three sizes that cover an image, each with its neighbours half over it: (N, 4).

    A network that is shown squares sees these undistorted and whole.

    Example:
        >>> square_crops(300, 200)[:2].astype(float).round(2).tolist()
        [[0.0, 0.0, 0.67, 1.0], [0.33, 0.0, 1.0, 1.0]]
        >>> len(square_crops(300, 200))
        38
    """
    boxes = []
    for scale in SCALES:
        side = scale * min(width, height)
        lefts, tops = (np.linspace(0, whole - side, _n_steps(whole, side)) for whole in (width, height))
        boxes += [
            [left / width, top / height, (left + side) / width, (top + side) / height] for top in tops for left in lefts
        ]
    return np.array(boxes, np.float32)


def _n_steps(whole: float, side: float) -> int:
    """How many squares lie along a side, each with half of it over the next at least; ten at most."""
    return 1 if whole - side < 1 else min(10, 1 + int(np.ceil(2 * (whole - side) / side)))
