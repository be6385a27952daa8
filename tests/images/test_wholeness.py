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
from seesay.images.wholeness import require_whole

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
