"""Whether the data of an image are complete: a file can be well-formed and hold only the upper rows.

Pillow fills what is missing with black or grey and says nothing. PNG and JPEG are checked here; the decoders of other
formats refuse such files themselves.
"""

import re
import zlib
from io import BytesIO

from PIL import Image, ImageChops
from PIL.JpegImagePlugin import JpegImageFile

from seesay.errors import SeesayError

_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of a PNG, by its colour type
_PASSES = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)  # x, y, dx, dy
_NO_FILLING = re.compile(rb"\xff+[^\x00\xff\xd0-\xd7]")  # a marker that ends the data of a scan
_HUFFMAN = b"\xc0\xc1\xc2"  # frames; decoders of arithmetic coding may look behind the end
_STEP = 1 << 20


def require_whole(content: bytes, at_least: int) -> None:
    """Refuse a PNG or a JPEG that `seesay.images.io.open_image` opens although its data end early.

    Args:
        content: The bytes of the file.
        at_least: The side up to which it is looked at, as of `open_image`.

    Raises:
        SeesayError: Some of its pixels are in no data.
    """
    try:
        if content.startswith(b"\x89PNG\r\n\x1a\n"):
            early = _n_inflated(content) < _n_expected(content)
        elif content.startswith(b"\xff\xd8\xff"):
            early = _jpeg_ends_early(content, at_least)
        else:
            return
    except Exception as error:  # what cannot be followed to its end is not whole; Pillow's errors have no common type
        raise _cut_off() from error
    if early:
        raise _cut_off()


def _cut_off() -> SeesayError:
    return SeesayError("the image is cut off: its data end early", allowed="a file that has arrived whole")


def _n_expected(content: bytes) -> int:
    """Bytes of the rows of a PNG, each with a byte that says how it is filtered."""
    width, height = int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
    depth, colour, interlaced = content[24], content[25], content[28]
    bits = depth * _CHANNELS[colour]
    passes = _PASSES if interlaced else ((0, 0, 1, 1),)
    sizes = [(-(-(width - x) // dx), -(-(height - y) // dy)) for x, y, dx, dy in passes]
    return sum(rows * (1 + -(-columns * bits // 8)) for columns, rows in sizes if columns > 0 and rows > 0)


def _n_inflated(content: bytes) -> int:
    """Bytes that the data of a PNG inflate to, which are not kept."""
    inflate, n, at = zlib.decompressobj(), 0, 8
    with memoryview(content) as view:
        while at + 8 <= len(content):
            length, kind = int.from_bytes(content[at : at + 4], "big"), content[at + 4 : at + 8]
            if kind == b"IDAT":
                rest = bytes(view[at + 8 : at + 8 + length])
                while rest and not inflate.eof:
                    n += len(inflate.decompress(rest, _STEP))
                    rest = inflate.unconsumed_tail
            elif kind == b"IEND":
                break
            at += 12 + length
    return n


def _jpeg_ends_early(content: bytes, at_least: int) -> bool:
    """Whether what stands behind the last scan would become pixels: behind data that are whole it is skipped."""
    end = _end_of_jpeg(content)
    if end is None:
        return False
    # Whatever place of the file is missing, after whichever restart marker, finds something to decode here.
    filler = b"".join(b"\x5a\x93\xc6\x1e\xb4\x69" * 40 + bytes((0xFF, 0xD0 + number)) for number in range(8))
    first, second = (
        _decode(content[:end] + more + b"\xff\xd9", at_least) for more in (b"", filler)
    )  # without what a camera leaves behind the first image
    return ImageChops.difference(first, second).getbbox() is not None


def _decode(content: bytes, at_least: int) -> Image.Image:
    image = JpegImageFile(BytesIO(content))
    image.draft(None, (at_least, at_least))
    image.load()
    return image


def _end_of_jpeg(content: bytes) -> int | None:
    """Where the marker stands that ends the first image of a file; None where the question does not arise."""
    at = 2
    while True:
        while content[at : at + 2] == b"\xff\xff":
            at += 1
        marker = content[at + 1]
        if marker == 0xD9:
            return at
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC) and marker not in _HUFFMAN:
            return None
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        if marker == 0xDA:
            found = _NO_FILLING.search(content, at)
            if found is None:
                return len(content)
            at = found.end() - 2
