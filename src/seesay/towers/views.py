"""How an image is prepared for a tower: preprocessor_config.json as a size, a crop and a scale of the pixels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seesay.errors import SeesayError
from seesay.towers.folder import IMAGE_PROCESSOR, PREPROCESSOR, PROCESSOR, Published
from seesay.towers.shapes import LARGEST_SIDE

RESAMPLINGS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
"""Pillow's numbers of ways to resize."""
_UNREAD = ("do_pad", "do_reduce_labels", "do_flip_channel_order", "do_thumbnail", "do_align_long_axis")

Colour = tuple[float, float, float]


@dataclass(frozen=True)
class View:
    """What a tower is shown.

    Attributes:
        size: Side of the square in pixels.
        crop: As `seesay.images.views.preprocess` takes it: `fixed-bicubic` resizes the whole image to the square,
            `shortest-256-bicubic` its shorter side to 256 pixels, of which the middle is taken.
        mean: Subtracted from pixels of 0 to 255.
        std: What they are divided by.
    """

    size: int
    crop: str
    mean: Colour
    std: Colour


def view_of(published: Published) -> View:
    """The view that a folder describes, in a file of its own or in that of all that prepares inputs.

    Raises:
        SeesayError: No file describes it, or it asks for something that is not done here.
    """
    alone = published.json(PREPROCESSOR)
    if alone is not None:
        return read_view(alone, str(published.folder / PREPROCESSOR))
    part = (published.json(PROCESSOR) or {}).get(IMAGE_PROCESSOR)
    if not isinstance(part, Mapping):
        raise SeesayError(f"{published.folder} has no {PREPROCESSOR}, which says how an image is prepared")
    return read_view(part, f"{published.folder / PROCESSOR}: {IMAGE_PROCESSOR}")


def read_view(config: Mapping[str, Any], origin: str) -> View:
    """The view that a preprocessor_config.json describes.

    Raises:
        SeesayError: It asks for something that is not done here.
    """

    def refuse(key: str, allowed: str) -> SeesayError:
        return SeesayError(f"{origin}: {key} is {str(config.get(key))[:80]}", allowed=allowed)

    for key in _UNREAD:
        if config.get(key):
            raise SeesayError(f"{origin} asks for {key}, which is not done here", allowed=f"{key} = false")
    resample = config.get("resample", 3)
    if type(resample) is not int or resample not in RESAMPLINGS:  # true is an int, and a list is in no table
        raise refuse("resample", "; ".join(f"{number} ({name})" for number, name in RESAMPLINGS.items()))
    if not config.get("do_resize", True):
        raise refuse("do_resize", "true")
    crops = bool(config.get("do_center_crop", "crop_size" in config))
    size = config.get("size", 224)
    edge = size.get("shortest_edge") if isinstance(size, Mapping) else None
    if isinstance(size, Mapping) and "longest_edge" in size:
        raise refuse("size", "shortest_edge, or height and width")
    square = _square(size, refuse, "size") if edge is None else None
    if edge is None and isinstance(size, int) and crops:  # a lone number is the shorter side where the middle is taken
        edge, square = square, None
    if square is not None:
        side = _square(config["crop_size"], refuse, "crop_size") if crops and "crop_size" in config else square
        if side != square:
            raise refuse("crop_size", f"{square}, as size")
        return View(square, f"fixed-{RESAMPLINGS[resample]}", *_scale(config, refuse))
    if not crops:
        raise refuse("do_center_crop", "true, as the shorter side alone is resized")
    edge = _side(edge, refuse, "size")
    side = _square(config.get("crop_size", edge), refuse, "crop_size")
    if side > edge:
        raise refuse("crop_size", f"up to {edge}, the shorter side")
    return View(side, f"shortest-{edge}-{RESAMPLINGS[resample]}", *_scale(config, refuse))


def _square(size: Any, refuse: Any, key: str) -> int:
    if isinstance(size, Mapping):
        if size.get("height") != size.get("width"):
            raise refuse(key, "a square")
        size = size.get("height")
    return _side(size, refuse, key)


def _side(size: Any, refuse: Any, key: str) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 8 <= size <= LARGEST_SIDE:
        raise refuse(key, f"whole numbers of pixels from 8 to {LARGEST_SIDE:,}")
    return size


def _scale(config: Mapping[str, Any], refuse: Any) -> tuple[Colour, Colour]:
    """Mean and deviation for pixels of 0 to 255."""
    factor = config.get("rescale_factor", 1 / 255) if config.get("do_rescale", True) else 1.0
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1e-9 <= factor <= 1e9:
        raise refuse("rescale_factor", "a number from 1e-9 to 1e9")
    if not config.get("do_normalize", True):
        return (0.0, 0.0, 0.0), (1 / factor,) * 3
    means, deviations = (_colour(config.get(key), refuse, key) for key in ("image_mean", "image_std"))
    if not all(deviation > 1e-9 for deviation in deviations):
        raise refuse("image_std", "above 1e-9")
    return tuple(mean / factor for mean in means), tuple(each / factor for each in deviations)  # type: ignore[return-value]


def _colour(given: Any, refuse: Any, key: str) -> Colour:
    numbers = given if isinstance(given, list | tuple) else ()
    are_numbers = len(numbers) == 3 and all(type(number) in (int, float) for number in numbers)
    if not are_numbers or not all(abs(number) <= 1e9 for number in numbers):
        raise refuse(key, "three numbers, none above 1e9")
    red, green, blue = map(float, numbers)
    return red, green, blue
