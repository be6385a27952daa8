"""What an image may be given as: a path, bytes, a file object, an array, or an image that is open already."""

import os
from io import IOBase
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seesay.errors import SeesayError
from seesay.system import remote

ImageSource = Path | str | bytes | bytearray | memoryview | IO[bytes] | NDArray[Any] | Image.Image
"""Everything that `seesay.open_image` opens."""
ALLOWED: Final = "a path, bytes, a binary file, an array of pixels, or a PIL image"
LARGEST_FILE: Final = 512 * 1024 * 1024
"""Bytes that are read of a file object."""


def as_source(source: ImageSource) -> Path | bytes | Image.Image:
    """An image as one of the three kinds that are opened: a path, the bytes of a file, or a PIL image.

    A file object is read from where it stands, and is not closed.

    Raises:
        SeesayError: It is something else, or an array that is no image.

    Example:
        >>> as_source("photo.jpg"), as_source(np.zeros((2, 3), np.uint8)).size
        (PosixPath('photo.jpg'), (3, 2))
    """
    if isinstance(source, bytes | Path | Image.Image):
        return source
    if isinstance(source, str | os.PathLike):
        return remote.as_path(os.fspath(source))
    if isinstance(source, bytearray | memoryview):
        return bytes(source)
    if isinstance(source, np.ndarray):
        return _from_array(source)
    if isinstance(source, IOBase) or hasattr(source, "read"):
        return _from_file(source)
    raise SeesayError(f"cannot open an image from a {type(source).__name__}", allowed=ALLOWED)


def _from_array(pixels: NDArray[Any]) -> Image.Image:
    shape = "x".join(map(str, pixels.shape))
    allowed = "(height, width), or (height, width, channels) with 1, 3 or 4 channels; 0 to 255 as uint8"
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))) or 0 in pixels.shape:
        raise SeesayError(f"an array of shape {shape} is no image", allowed=allowed)
    if pixels.dtype != np.uint8:
        # Floats may mean 0 to 1 or 0 to 255: a guess would be wrong without anybody noticing.
        hint = "(255 * pixels).astype('uint8')" if pixels.dtype.kind == "f" else "pixels.astype('uint8')"
        raise SeesayError(f"the pixels of an array are {pixels.dtype}", allowed=allowed, hint=hint)
    return Image.fromarray(np.ascontiguousarray(pixels))


def _from_file(file: Any) -> bytes:
    try:
        data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # a closed file is a ValueError
        raise SeesayError(f"cannot read the given file object: {error}") from error
    if not isinstance(data, bytes):
        raise SeesayError("the given file object gives text", allowed="one that is open for bytes", hint='mode "rb"')
    if len(data) > LARGEST_FILE:
        raise SeesayError("the given file object is too large", allowed=f"up to {LARGEST_FILE:,} bytes")
    return data
