"""Photos of the library as the page shows them: found by id, never by path, and without metadata.

What is sent is always made anew from pixels: no date, no place, no camera, nothing that a decoder might trip over.
"""

import hashlib
import os
from io import BytesIO
from pathlib import Path

from PIL import Image

from seesay.images.io import open_image
from seesay.library.ranking.likeness import ChangedError, read_photo
from seesay.library.types import Photo
from seesay.system.remote import as_url

SIDES = (64, 2560)
"""The smallest and the largest image that can be asked for, in pixels of its longer side."""


def open_photo(photo: Photo, *, at_least: int | None = None) -> Image.Image:
    """A photo, upright.

    Raises:
        ChangedError: The file is not the one that was indexed.
    """
    image = open_image(read_photo(photo), at_least=at_least)
    if at_least is None and image.size != (photo.width, photo.height):
        raise ChangedError(f"{shown(Path(photo.path.name))} has changed since it was indexed", hint="seesay index")
    return image


def version_of(photo: Photo) -> str:
    """What the addresses of a photo's images end with, and what they are kept under: no other image has the same.

    Ids begin again in every library, and two libraries may be served at one address after each other: the file's own
    place and time are part of it.
    """
    place = hashlib.sha256(os.fsencode(photo.path)).hexdigest()[:16]
    return f"{place}-{photo.content}-{photo.mtime_ns:x}"


def check_version(photo: Photo, asked: str) -> None:
    """Refuse an address that was made for a photo of another library.

    Raises:
        ChangedError: It was.
    """
    if asked and asked.partition("-")[0] != version_of(photo).partition("-")[0]:
        raise ChangedError("this address is one of another library", hint="load the page again")


def draw_photo(photo: Photo, side: int) -> bytes:
    """A photo as a JPEG whose longer side has at most so many pixels, upright, without metadata."""
    image = open_photo(photo, at_least=side)
    image.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    file = BytesIO()
    image.save(file, "JPEG", quality=88, progressive=True)
    return file.getvalue()


def shown(path: Path) -> str:
    """A path as JSON can hold it: bytes that are no text are written out.

    Example:
        >>> shown(Path("/photos/caf\\udce9 ü.jpg"))
        '/photos/caf\\\\xe9 ü.jpg'
    """
    return os.fsencode(as_url(path)).decode("utf-8", "backslashreplace")
