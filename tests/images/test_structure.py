import random
import struct
import zlib
from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.images.structure import MOST_PARTS, MOST_SCANS, require_few_parts, require_whole

NOISE = Image.effect_noise((61, 47), 60).convert("RGB")
JPEGS: list[dict[str, Any]] = [{}, {"progressive": True}, {"restart_marker_rows": 1}, {"restart_marker_blocks": 2}]


def save(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def png(rows: bytes, *, interlaced: bool = False, size: tuple[int, int] = (9, 7)) -> bytes:
    """A PNG of greys, well-formed whatever its rows are."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("options", JPEGS)
def test_a_jpeg_that_ends_early_is_refused_wherever_it_ends(options: dict[str, Any]) -> None:
    whole = save(NOISE, "JPEG", **options)
    require_whole(whole, 16)
    require_whole(whole + b"\xff\xd8 what a camera leaves behind \xff\xd9", 16)
    dice = random.Random(0)
    start, n_filled = whole.index(b"\xff\xda") + 14, 0
    for _ in range(20):
        cut = whole[: dice.randrange(start, len(whole) - 40)].rstrip(b"\xff") + b"\xff\xd9"
        with suppress(SeesayError):  # the tables between two scans are cut, which Pillow sees
            n_filled += open_image(cut).size == NOISE.size
        with pytest.raises(SeesayError, match="its data end early"):
            require_whole(cut, 16)
    assert n_filled > 10  # Pillow fills the rest


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16"])
def test_a_png_of_any_mode_that_is_whole_passes(mode: str) -> None:
    image = Image.new("I;16", (61, 47)) if mode == "I;16" else NOISE.convert(mode)
    require_whole(save(image, "PNG"), 16)


def test_a_png_that_lacks_a_row_is_refused() -> None:
    rows = (b"\0" + bytes(range(9))) * 7
    require_whole(png(rows), 16)
    for n in (0, 10, 69):
        with pytest.raises(SeesayError, match="its data end early"):
            require_whole(png(rows[:n]), 16)


def test_the_rows_of_an_interlaced_png_are_counted_pass_by_pass() -> None:
    # 9 x 7 pixels in seven passes: columns and rows of each, with a byte before each row
    n = sum(rows * (1 + columns) for columns, rows in ((2, 1), (1, 1), (3, 1), (2, 2), (5, 2), (4, 4), (9, 3)))
    whole = png(bytes(n), interlaced=True)
    assert open_image(whole).size == (9, 7)
    require_whole(whole, 16)
    with pytest.raises(SeesayError, match="its data end early"):
        require_whole(png(bytes(n - 1), interlaced=True), 16)


def test_other_formats_are_left_to_their_decoders() -> None:
    for kind in ("GIF", "BMP", "TIFF", "WEBP"):
        whole = save(NOISE, kind)
        require_whole(whole, 16)
        with pytest.raises(SeesayError, match="damaged or cut off"):
            open_image(whole[: len(whole) // 2])


def test_what_is_no_picture_at_all_is_cut_off() -> None:
    for content in (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"):
        with pytest.raises(SeesayError, match="its data end early"):
            require_whole(content, 16)


SMALL = Image.new("RGB", (40, 30), "teal")
SCAN = b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x10"  # of ten bytes, which goes over the whole picture


def with_scans(n: int) -> bytes:
    """A progressive JPEG with `n` scans more than it needs."""
    content = save(SMALL, "JPEG", progressive=True)
    return content[:-2] + SCAN * n + content[-2:]


def with_segments(segment: bytes, n: int) -> bytes:
    content = save(SMALL, "JPEG")
    return content[:2] + segment * n + content[2:]


def with_chunks(n: int) -> bytes:
    content = save(SMALL, "PNG")
    at = content.index(b"IDAT") - 4
    return content[:at] + (bytes(4) + b"prVt" + struct.pack(">I", zlib.crc32(b"prVt"))) * n + content[at:]


def with_comments(n: int) -> bytes:
    content = save(SMALL.convert("P"), "GIF")
    at = content.index(b",", 13)
    return content[:at] + b"!\xfe\x01a\x00" * n + content[at:]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (with_scans(MOST_SCANS + 1), "500 scans"),
        (with_segments(b"\xff\xe1\x00\x09Exif\0\0x", 101), "100 segments of EXIF"),
        (with_segments(b"\xff\xe5\x00\x02", MOST_PARTS), "100,000 segments"),
        (with_chunks(MOST_PARTS), "100,000 chunks"),
        (with_comments(MOST_PARTS // 2 + 1), "100,000 blocks"),
    ],
    ids=["scans", "exif", "segments", "chunks", "comments"],
)
def test_a_file_of_more_parts_than_anything_needs_is_refused_before_it_is_read(content: bytes, what: str) -> None:
    """Ten thousand scans of ten bytes over a hundred million pixels take a minute; a comment of a byte takes 170."""
    with pytest.raises(SeesayError, match=f"cannot open the given bytes: it has more than {what}"):
        open_image(content)


@pytest.mark.parametrize(
    "content",
    [with_scans(300), with_segments(b"\xff\xe1\x00\x09Exif\0\0x", 90), with_chunks(5000), with_comments(5000)],
    ids=["scans", "exif", "chunks", "comments"],
)
def test_a_file_of_many_parts_opens(content: bytes) -> None:
    assert open_image(content).size == SMALL.size


def test_what_a_camera_leaves_behind_the_picture_is_not_counted() -> None:
    require_few_parts(save(SMALL, "JPEG") + SCAN * 2000, "a photo with a film behind it")


@pytest.mark.parametrize("options", JPEGS)
def test_filler_of_any_length_takes_no_longer_than_it_is_long(options: dict[str, Any]) -> None:
    """Looking for its end from each byte of it would take hours for a megabyte."""
    content = save(SMALL, "JPEG", **options)
    at = content.rindex(b"\xff\xda") + 12
    for filled in (
        content[:at] + b"\xff" * 1_000_000 + b"\x00" + content[at:],
        content[:2] + b"\xff" * 1_000_000 + content[2:],
    ):
        require_few_parts(filled, "a photo")
        with suppress(SeesayError):
            require_whole(filled, 16)
