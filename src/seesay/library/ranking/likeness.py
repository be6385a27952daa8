"""Photos to be like: files, or photos of the library by their id, or a crop of either."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from seesay.errors import SeesayError
from seesay.library.stores.store import Store
from seesay.library.types import File, Filter, Photo, Tags, Vector
from seesay.system import remote

if TYPE_CHECKING:
    from PIL import Image

Box = tuple[float, float, float, float]
Source = Path | str | bytes | int
"""A file, the bytes of one, or the id of a photo of the library."""

LARGEST_FILE = 512 * 1024 * 1024
"""Bytes of a photo that are read at all."""
_SAME, _N_SAME = 0.999, 16
"""The cosine from which a file of the same size is the same one, and how many of the nearest are looked at."""
_THINNEST = 1e-4  # of a box: no photo has a pixel that is smaller


class ExampleEncoder(Protocol):
    """What it takes to find photos that are like an image."""

    @property
    def pixels(self) -> int:
        """The shorter side below which images must not be decoded."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> tuple[Vector, list[Tags]]:
        """Unit vectors (n, D) of opened images, and their tags."""


class NotFoundError(SeesayError):
    """There is no such photo."""


class ChangedError(SeesayError):
    """The file is not the one that was indexed."""


@dataclass(frozen=True, slots=True)
class Crop:
    """A crop of a photo, for searches that ask where else something is to be seen.

    Attributes:
        photo: The photo that shows it.
        box: Left, top, right, bottom as fractions of the photo.
    """

    photo: Source
    box: Box


def read_box(text: str) -> Box:
    """A box as a person writes it.

    Raises:
        SeesayError: It is no box inside the photo.

    Example:
        >>> read_box("0.1,0.2,0.5,1")
        (0.1, 0.2, 0.5, 1.0)
    """
    try:
        left, top, right, bottom = (float(edge) for edge in text.split(","))
    except ValueError:
        left = top = right = bottom = 0.0
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1 and min(right - left, bottom - top) >= _THINNEST):
        raise SeesayError(f"the box is {text[:100]!r}", allowed="left,top,right,bottom from 0 to 1, such as 0,0,0.5,1")
    return left, top, right, bottom


def find_photo(store: Store, photo_id: int) -> Photo:
    """A photo by its id.

    Raises:
        NotFoundError: The library has none of it.
    """
    photo = store.photo(photo_id)
    if photo is None:
        raise NotFoundError(f"there is no photo {photo_id}")
    return photo


def read_photo(photo: Photo) -> bytes:
    """The bytes of a photo's file, if it is still the one that was indexed.

    The file is opened once and judged by what was opened: it cannot be exchanged in between, and a pipe that somebody
    has put in its place does not block.

    Raises:
        ChangedError: It is gone, or something else lies there.
    """
    name = os.fsencode(photo.path.name).decode("utf-8", "backslashreplace")
    if remote.is_remote(photo.path):
        return _read_stored(photo, name)
    try:
        handle = os.open(photo.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise ChangedError(f"{name} cannot be opened", hint="seesay index") from error
    try:
        status = os.fstat(handle)
        found = File.of(b"", status)
        same = (found.size, found.mtime_ns) == (photo.size, photo.mtime_ns)
        if not stat.S_ISREG(status.st_mode) or not same:
            raise ChangedError(f"{name} has changed since it was indexed", hint="seesay index")
        if status.st_size > LARGEST_FILE:
            raise SeesayError(f"{name} is too large to be shown", allowed=f"{LARGEST_FILE:,} bytes")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def _read_stored(photo: Photo, name: str) -> bytes:
    """The bytes of a photo in object storage."""
    try:
        data = remote.read(photo.path)
    except SeesayError as error:
        raise ChangedError(f"{name} cannot be opened", hint="seesay index") from error
    if len(data) != photo.size:
        raise ChangedError(f"{name} has changed since it was indexed", hint="seesay index")
    return data


def open_crop(store: Store, crop: Crop) -> "Image.Image":
    """A crop of a photo as an image of its own.

    Raises:
        SeesayError: The photo cannot be opened, or is not the one that was indexed.
    """
    from seesay.images.crops import cut_out
    from seesay.images.io import open_image

    source = crop.photo
    return cut_out(open_image(read_photo(find_photo(store, source)) if isinstance(source, int) else source), crop.box)


def vector_of(store: Store, encoder: ExampleEncoder, like: Source | Crop) -> Vector:
    """The unit vector (D,) of a photo, or of a crop of one."""
    if isinstance(like, int):
        content = find_photo(store, like).content
        return store.vectors([content])[content]
    from seesay.images.io import open_image
    from seesay.images.structure import require_whole

    image = open_crop(store, like) if isinstance(like, Crop) else open_image(like, at_least=encoder.pixels)
    if isinstance(like, bytes):  # sent by somebody, perhaps not to its end
        require_whole(like, encoder.pixels)
    return np.asarray(encoder.encode_photos([image])[0][0], np.float32)


def own_contents(store: Store, like: Source | Crop, vector: Vector) -> list[int]:
    """The contents that a photo, or the photo of a crop, is itself: whoever asks for photos like it has that one."""
    photo = like.photo if isinstance(like, Crop) else like
    if isinstance(photo, int):
        return [find_photo(store, photo).content]
    if isinstance(like, Crop) or isinstance(photo, bytes) or remote.is_remote(photo):
        return []  # whoever sends a photo wants to know whether the library has it
    size = Path(photo).stat().st_size
    near = [hit for hit in store.nearest(vector, _N_SAME, Filter()) if hit.cosine >= _SAME]
    return [hit.photos[0].content for hit in near if any(own.size == size for own in hit.photos)]
