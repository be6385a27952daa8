"""What of an image a network is shown: a square, its mirror image, or ten crops."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

CROPS = ("squash", "mirror", "ten-crop")


def preprocess(image: Image.Image, size: int, crop: str) -> NDArray[np.uint8]:
    """The views of one image: (1, size, size, 3) for `squash`, 2 views for `mirror`, 10 for `ten-crop`."""
    if crop != "ten-crop":
        view = np.asarray(image.resize((size, size), Image.Resampling.BICUBIC))
        return np.stack([view, view[:, ::-1]] if crop == "mirror" else [view])
    short = short_side(size)
    scale = short / min(image.size)
    width, height = (max(short, round(side * scale)) for side in image.size)
    whole = np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))
    right, bottom = width - size, height - size
    corners = [(0, 0), (0, right), (bottom, 0), (bottom, right), (bottom // 2, right // 2)]
    views = [whole[top : top + size, left : left + size] for top, left in corners]
    return np.stack([*views, *(view[:, ::-1] for view in views)])


def short_side(size: int) -> int:
    """Of the image that ten crops are cut from: 256 where the network takes 224, as the papers do."""
    return round(size * 256 / 224)
