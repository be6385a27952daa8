"""What of an image a network is shown: a square, its mirror image, ten crops, or what a published tower asks for."""

import re

import numpy as np
from numpy.typing import NDArray
from PIL import Image

CROPS = ("squash", "mirror", "ten-crop")
_TOWER = re.compile(r"(fixed|shortest-(\d{1,4}))-(nearest|lanczos|bilinear|bicubic)")
"""As `seesay.towers.views` writes them."""
_ROOM = 2
"""How many times the side that a tower is shown is decoded at least: closer to it a decoder's short cuts show."""


def is_crop(crop: str) -> bool:
    """Whether views of this kind can be made.

    Example:
        >>> [is_crop(crop) for crop in ("squash", "shortest-256-bicubic", "round")]
        [True, True, False]
    """
    return crop in CROPS or _TOWER.fullmatch(crop) is not None


def preprocess(image: Image.Image, size: int, crop: str) -> NDArray[np.uint8]:
    """The views of one image: 2 for `mirror`, 10 for `ten-crop`, else one: (1, size, size, 3)."""
    if crop not in CROPS:
        return _tower_view(image, size, crop)[None]
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


def needed_side(size: int, crop: str) -> int:
    """The shorter side below which images must not be decoded."""
    if crop == "ten-crop":
        return short_side(size)
    found = _TOWER.fullmatch(crop)
    return size if found is None else _ROOM * int(found[2] or size)


def seen_part(width: int, height: int, size: int, crop: str) -> tuple[float, float, float, float]:
    """The part of an image that views show, as left, top, right, bottom, fractions of the image.

    Example:
        >>> seen_part(400, 200, 100, "squash"), seen_part(400, 200, 100, "shortest-100-bicubic")
        ((0.0, 0.0, 1.0, 1.0), (0.25, 0.0, 0.75, 1.0))
    """
    found = _TOWER.fullmatch(crop)
    if found is None or found[1] == "fixed":
        return 0.0, 0.0, 1.0, 1.0
    share = size / int(found[2]) * min(width, height)  # in pixels of the image
    across, down = (min(1.0, share / side) for side in (width, height))
    return 0.5 - across / 2, 0.5 - down / 2, 0.5 + across / 2, 0.5 + down / 2


def _tower_view(image: Image.Image, size: int, crop: str) -> NDArray[np.uint8]:
    """A square as `transformers` makes it, to the pixel."""
    found = _TOWER.fullmatch(crop)
    if found is None:
        raise ValueError(f"there is no crop {crop!r}")
    how = Image.Resampling[found[3].upper()]
    if found[1] == "fixed":
        return np.asarray(image.resize((size, size), how))
    short, long = int(found[2]), max(image.size)
    other = int(short * long / min(image.size))
    width, height = (short, other) if image.width <= image.height else (other, short)
    left, top = (width - size) // 2, (height - size) // 2
    whole = np.asarray(image.resize((width, height), how))
    return whole[top : top + size, left : left + size]
