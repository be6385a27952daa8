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
