"""What an image file is made of, looked at without its pixels: of how many parts, and whether they are complete.

A few bytes can ask for much work: every scan of a progressive JPEG goes over the whole picture, and takes ten bytes;
a reader notes every segment, chunk or block that it meets. So parts are counted before anything is decoded.

A file can also be well-formed and hold only the upper rows. Pillow fills what is missing with black or grey and says
nothing. PNG and JPEG are checked here; the decoders of other formats refuse such files themselves.
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
_MARKER = re.compile(rb"\xff[^\x00\x01\xff\xd0-\xd8]")  # of a JPEG: none that stands in the data of a scan
_HUFFMAN = b"\xc0\xc1\xc2"  # frames; decoders of arithmetic coding may look behind the end
_STEP = 1 << 20

MOST_PARTS = 100_000
"""Segments of a JPEG, chunks of a PNG without those that hold its pixels, or blocks of a GIF before its first frame."""
MOST_SCANS = 500
"""Scans of a JPEG; those that cameras and programs write have about ten."""
_MOST_EXIF = 100  # segments of EXIF, each of which Pillow joins to all those before it


def require_few_parts(content: bytes, name: str) -> None:
    """Refuse a file that consists of so many parts that reading it would take minutes, or all of the memory.

    Raises:
        SeesayError: It does.

    Example:
        >>> require_few_parts(b"GIF89a" + bytes(7) + b"!\\xfe" + b"\\x01a" * 200_000, "a.gif")
        Traceback (most recent call last):
        seesay.errors.SeesayError: cannot open a.gif: it has more than 100,000 blocks
    """
    try:
        if content.startswith(b"\xff\xd8\xff"):
            n_segments, n_exif = _count_segments(content)
            n_scans = content.count(b"\xff\xda")  # of which some may be no marker
            n_scans = _count_scans(content) if n_scans > MOST_SCANS else n_scans
            counted = [(n_segments, MOST_PARTS, "segments"), (n_exif, _MOST_EXIF, "segments of EXIF"),
                       (n_scans, MOST_SCANS, "scans")]  # fmt: skip
        elif content.startswith(b"\x89PNG\r\n\x1a\n"):
            counted = [(_count_chunks(content), MOST_PARTS, "chunks")]
        elif content.startswith((b"GIF87a", b"GIF89a")):
            counted = [(_count_blocks(content), MOST_PARTS, "blocks")]
        else:
            return
    except IndexError:  # it ends in the middle of a part, which its decoder will say
        return
    for n, most, what in counted:
        if n > most:
            raise SeesayError(f"cannot open {name}: it has more than {most:,} {what}")


def _count_segments(content: bytes) -> tuple[int, int]:
    """The segments of a JPEG before its first scan, and those of EXIF among them."""
    n = n_exif = 0
    at = 2
    while (found := _MARKER.search(content, at)) and n <= MOST_PARTS:
        at = found.end()
        if content[at - 1] in b"\xd9\xda":
            break
        n += 1
        n_exif += content[at - 1] == 0xE1 and content.startswith(b"Exif\0", at + 2)
        at += _length(content, at)
    return n, n_exif


def _count_scans(content: bytes) -> int:
    """The scans of the first image of a JPEG file."""
    n_scans, at = 0, 2
    while (found := _MARKER.search(content, at)) and n_scans <= MOST_SCANS:
        at = found.end()
        if content[at - 1] == 0xD9:
            break
        n_scans += content[at - 1] == 0xDA
        at += _length(content, at)
    return n_scans


def _count_chunks(content: bytes) -> int:
    n, at = 0, 8
    while at + 8 <= len(content) and n <= MOST_PARTS:
        n += content[at + 4 : at + 8] not in (b"IDAT", b"fdAT", b"fcTL")
        at += 12 + int.from_bytes(content[at : at + 4], "big")
    return n


def _count_blocks(content: bytes) -> int:
    n, at = 0, 13
    if content[10] & 0x80:  # the bytes of a palette
        at += 3 << ((content[10] & 7) + 1)
    while content[at] != 0x2C and n <= MOST_PARTS:
        n += 1
        if content[at] != 0x21:
            at += 1
            continue
        at += 2
        while (size := content[at]) and n <= MOST_PARTS:
            n += 1
            at += 1 + size
        at += 1
    return n


def _length(content: bytes, at: int) -> int:
    """Of a segment of a JPEG, with the two bytes that say so."""
    return max(2, content[at] << 8 | content[at + 1])


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
    while found := _MARKER.search(content, at):
        at = found.end()
        marker = content[at - 1]
        if marker == 0xD9:
            return at - 2
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC) and marker not in _HUFFMAN:
            return None
        at += _length(content, at)
    return len(content)
