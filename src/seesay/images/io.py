"""The one way to open an image: any file, any bytes, always an upright RGB image or an error that names it.

Nothing is decoded before the header has said how large the image is. Pillow's plugins are called directly, by the
file's first bytes and never by its name: only the formats listed here are ever parsed, and Pillow's process-wide
"decompression bomb" limit and its warning give way to `max_pixels`.
"""

import logging
import math
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from PIL import ExifTags, Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from seesay.errors import SeesayError
from seesay.images.sources import ImageSource, as_source
from seesay.images.structure import require_few_parts
from seesay.system import remote
from seesay.system.reading import PHOTO, read_regular

FORMATS: Final = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIC")
MAX_PIXELS: Final = 100_000_000
_LONGEST: Final = 1000  # of max_pixels, the share that is one side: a line of 90 million takes gigabytes to shrink

_STRIP: Final = 1024  # rows that are converted at a time, where that takes several steps

_TILE: Final = (322, 323)  # tags of a TIFF, for the width and the height of what is decoded at a time
_LARGEST_TILE: Final = 1 << 24

_Opener = Callable[[BinaryIO], Image.Image]

# Pillow tells of each tag that it cannot read, of which a file may have 65,535: that is no matter of who opens it. For
# the whole process, as filters of one thread alone there are none.
warnings.filterwarnings("ignore", module=r"PIL\.")
logging.getLogger("PIL").addHandler(logging.NullHandler())

# An MPO is a JPEG with more images behind it: the JPEG plugin reads the first one, which is the one wanted.
_SIGNATURES: Final[tuple[tuple[bytes, _Opener], ...]] = (
    (b"\xff\xd8\xff", JpegImageFile),
    (b"\x89PNG\r\n\x1a\n", PngImageFile),
    (b"GIF87a", GifImageFile),
    (b"GIF89a", GifImageFile),
    (b"BM", BmpImageFile),
    (b"II*\0", TiffImageFile),
    (b"MM\0*", TiffImageFile),
    (b"II+\0", TiffImageFile),
    (b"MM\0+", TiffImageFile),
)
_AVIF_BRANDS: Final = {b"avif", b"avis"}
_HEIF_BRANDS: Final = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}

# What has to be done to the stored pixels so that they stand upright, by EXIF orientation; 1 is upright.
_UPRIGHT: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def open_image(source: ImageSource, *, max_pixels: int = MAX_PIXELS, at_least: int | None = None) -> Image.Image:
    """Open an image as an upright RGB image of 8 bits per channel, without any metadata.

    Transparent pixels become white, 16-bit greys are scaled to 8 bits, of several frames or pages the first is taken.
    The source is only ever read.

    Args:
        source: A file, the bytes of one, a binary file object, an array of pixels as uint8, or an image that is
            already open (which is left as it is).
        max_pixels: Images whose header announces more pixels are refused before anything is decoded.
        at_least: Where the caller will shrink the image anyway: a JPEG may be decoded at 1/2, 1/4 or 1/8 of its
            size, several times faster, as long as both sides keep at least this many pixels.

    Raises:
        SeesayError: The file is missing, unreadable, empty, damaged, too large, or no image of a known format.

    Example:
        >>> from io import BytesIO
        >>> file = BytesIO()
        >>> Image.new("LA", (4, 3), (0, 0)).save(file, "PNG")
        >>> image = open_image(file.getvalue())
        >>> image.mode, image.size, image.getpixel((0, 0))
        ('RGB', (4, 3), (255, 255, 255))
        >>> open_image(b"%PDF-1.7")
        Traceback (most recent call last):
        seesay.errors.SeesayError: cannot open the given bytes: not an image of a known format
          allowed: JPEG, MPO, PNG, WEBP, GIF, BMP, TIFF, AVIF, HEIC
    """
    if at_least is not None and at_least < 1:
        raise SeesayError(f"at_least is {at_least}", allowed="a number of pixels from 1 on, or None")
    given = as_source(source)
    if isinstance(given, Image.Image):
        return _guarded("the given image", lambda: _finish(given, "the given image", max_pixels, None))
    content, name = (given, "the given bytes") if isinstance(given, bytes) else (_read_file(given), str(given))
    return _guarded(name, lambda: _read(content, name, max_pixels, at_least))


def _read_file(path: Path) -> bytes:
    if remote.is_remote(path):
        return remote.read(path)
    try:
        return read_regular(path, PHOTO)
    except IsADirectoryError as error:
        raise SeesayError(f"cannot open {path}: it is a folder", hint="give the image inside it") from error
    except OSError as error:
        hint = "give an address as text" if remote.looks_like_address(path) else None
        raise SeesayError(f"cannot open {path}: {(error.strerror or str(error)).lower()}", hint=hint) from error
    except ValueError as error:
        raise SeesayError(f"cannot open {str(path)!r}: {error}") from error


def _guarded(name: str, step: Callable[[], Image.Image]) -> Image.Image:
    """Run `step`; whatever a plugin raises on a damaged file (there is no common type) names the file."""
    try:
        return step()
    except SeesayError:
        raise
    except Exception as error:
        raise SeesayError(f"cannot open {name}: damaged or cut off ({error or type(error).__name__})") from error


def _read(content: bytes, name: str, max_pixels: int, at_least: int | None) -> Image.Image:
    opener = find_opener(content[:64], name)
    require_few_parts(content, name)
    try:
        image = opener(BytesIO(content))
    except Image.DecompressionBombError as error:
        raise _too_large(name, str(error), max_pixels) from error
    return _finish(image, name, max_pixels, at_least)


def find_opener(head: bytes, name: str) -> _Opener:
    """The plugin for a file that starts with these bytes."""
    if not head:
        raise SeesayError(f"cannot open {name}: it is empty (0 bytes)")
    for signature, opener in _SIGNATURES:
        if head.startswith(signature):
            return opener
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return WebPImageFile
    if head[4:8] == b"ftyp":
        # The major brand may be a mere container; the list of compatible brands, 4 bytes each, says what is inside.
        end = int.from_bytes(head[:4], "big")
        brands = {head[start : start + 4] for start in range(8, min(end, len(head)), 4)}
        if brands & _AVIF_BRANDS:
            return _avif_opener(name)
        if brands & _HEIF_BRANDS:
            return _heif_opener(name)
    raise SeesayError(f"cannot open {name}: not an image of a known format", allowed=FORMATS)


def _avif_opener(name: str) -> _Opener:
    try:
        from PIL import AvifImagePlugin
    except ImportError:
        supported = False
    else:
        supported = AvifImagePlugin.SUPPORTED
    if not supported:
        raise SeesayError(
            f"cannot open {name}: this Pillow cannot read AVIF", hint="pip install --upgrade 'pillow>=11.3'"
        )
    return AvifImagePlugin.AvifImageFile


def _heif_opener(name: str) -> _Opener:
    try:
        from pillow_heif import HeifImageFile
    except ImportError as error:
        raise SeesayError(
            f"cannot open {name}: HEIC needs pip install 'seesay[heic]'", hint="pip install 'seesay[heic]'"
        ) from error
    opener: _Opener = HeifImageFile
    return opener


def _finish(image: Image.Image, name: str, max_pixels: int, at_least: int | None) -> Image.Image:
    """Decode an image of which only the header is known, stand it upright and make it RGB."""
    width, height = image.size
    if width * height > max_pixels or max(width, height) > max_pixels // _LONGEST + _LONGEST:
        raise _too_large(name, f"{width} x {height}", max_pixels)
    tile: list[Any] = [image.tag_v2.get(tag) for tag in _TILE] if isinstance(image, TiffImageFile) else []
    if all(isinstance(side, int) for side in tile) and math.prod(tile) > max(max_pixels, _LARGEST_TILE):
        raise _too_large(name, f"in tiles of {' x '.join(map(str, tile))}", max_pixels)
    if width * height == 0:
        raise SeesayError(f"cannot open {name}: it has no pixels ({width} x {height})")
    if at_least is not None and isinstance(image, JpegImageFile):
        image.draft(None, (at_least, at_least))
    image.load()
    orientation = _orientation(image)  # after loading: the TIFF plugin turns the image by itself and drops the tag
    image = _to_rgb(image, name)
    if orientation in _UPRIGHT:
        image = image.transpose(_UPRIGHT[orientation])
    image.info.clear()  # an orientation that stayed behind would turn the image again when it is passed on
    return image


def _too_large(name: str, size: str, max_pixels: int) -> SeesayError:
    return SeesayError(
        f"cannot open {name}: too large ({size})",
        allowed=f"up to {max_pixels:,} pixels, {max_pixels // _LONGEST:,} of the longer side",
        hint="shrink the image, or raise max_pixels if you trust it",
    )


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # broken metadata is no reason to refuse an image whose pixels are fine
        return 1


def _to_rgb(image: Image.Image, name: str) -> Image.Image:
    """A new image, RGB with 8 bits per channel."""
    if image.mode in ("I", "F"):
        raise SeesayError(
            f"cannot open {name}: pixels of mode {image.mode} do not say which number is white",
            allowed="up to 16 bits per channel, without a sign",
            hint="save it as an 8-bit PNG",
        )
    if not (image.mode.startswith("I;16") or image.has_transparency_data):
        return image.convert("RGB")
    rgb = Image.new("RGB", image.size)
    for top in range(0, image.height, _STRIP):  # what is between would be four times as large as the image
        box = (0, top, image.width, min(top + _STRIP, image.height))
        rgb.paste(_strip_to_rgb(image.crop(box)), box)
    return rgb


def _strip_to_rgb(strip: Image.Image) -> Image.Image:
    """Some rows of an image that has 16 bits a pixel, or is transparent somewhere."""
    if strip.mode.startswith("I;16"):
        # Pillow would clip everything above 255 to white.
        grey = np.asarray(strip).astype(np.uint32)
        return Image.fromarray(((grey * 255 + 32767) // 65535).astype(np.uint8)).convert("RGB")
    # Premultiplied modes convert to their plain twin only.
    straight = strip.convert({"La": "LA", "RGBa": "RGBA"}.get(strip.mode, strip.mode)).convert("RGBA")
    white = Image.new("RGBA", strip.size, "white")
    white.alpha_composite(straight)
    return white.convert("RGB")
