"""What a photo's file says about itself: how large it is, when it was taken, with what."""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any

from PIL import ExifTags, Image
from PIL.TiffImagePlugin import TiffImageFile

from seesay.images.io import find_opener

_DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_SIDEWAYS = (5, 6, 7, 8)
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Metadata:
    """Width and height of the upright photo; date (ISO 8601) and camera where the file tells them."""

    width: int
    height: int
    taken: str | None = None
    camera: str | None = None


def read_metadata(data: bytes) -> Metadata:
    """Read the header of a photo that `open_image` has opened; its pixels are not decoded.

    Whatever EXIF holds, broken or hostile, at worst means that date and camera are not known.

    Example:
        >>> file, exif = BytesIO(), Image.Exif()
        >>> exif[ExifTags.Base.Orientation], exif[ExifTags.Base.Model] = 6, "Canon EOS 5D"
        >>> exif[ExifTags.Base.DateTime] = "2019:07:04 12:30:00"
        >>> Image.new("RGB", (40, 30)).save(file, "JPEG", exif=exif)
        >>> read_metadata(file.getvalue())
        Metadata(width=30, height=40, taken='2019-07-04T12:30:00', camera='Canon EOS 5D')
    """
    image = find_opener(data[:64], "the given bytes")(BytesIO(data))
    width, height = image.size
    tags = _exif(image)
    # The TIFF plugin gives the size of the upright photo by itself.
    if tags.get(ExifTags.Base.Orientation) in _SIDEWAYS and not isinstance(image, TiffImageFile):
        width, height = height, width
    dates = (ExifTags.Base.DateTimeOriginal, ExifTags.Base.DateTimeDigitized, ExifTags.Base.DateTime)
    taken = next((date for tag in dates if (date := _date(tags.get(tag)))), None)
    return Metadata(width, height, taken, _camera(tags.get(ExifTags.Base.Make), tags.get(ExifTags.Base.Model)))


def _exif(image: Image.Image) -> dict[int, Any]:
    """The tags of the photo and of its camera, as far as they can be read."""
    tags: dict[int, Any] = {}
    with suppress(Exception):  # broken metadata raises whatever it meets first
        exif = image.getexif()
        tags.update(exif)
        tags.update(exif.get_ifd(ExifTags.IFD.Exif))
    return tags


def _date(value: object) -> str | None:
    """A date as EXIF writes it, if it is one: cameras whose clock was never set write zeros.

    Example:
        >>> _date("2019:07:04 12:30:00"), _date("0000:00:00 00:00:00"), _date("2019:02:31 10:00:00")
        ('2019-07-04T12:30:00', None, None)
    """
    found = _DATE.match(value) if isinstance(value, str) else None
    if not found:
        return None
    try:
        return datetime(*map(int, found.groups())).isoformat()  # type: ignore[arg-type]
    except ValueError:
        return None


def _camera(make: object, model: object) -> str | None:
    """Maker and model, the maker once.

    Example:
        >>> _camera("Canon\\0", " Canon EOS 5D "), _camera("NIKON CORPORATION", "NIKON D750"), _camera(b"\\xff", None)
        ('Canon EOS 5D', 'NIKON D750', None)
    """
    maker, name = (_plain(part) if isinstance(part, str) else "" for part in (make, model))
    if maker and name and name.split()[0].lower() == maker.split()[0].lower():
        maker = ""
    return f"{maker} {name}".strip()[:_LONGEST_NAME] or None


def _plain(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
