"""Every kind of file gives the right pixels, or an error that names it."""

import builtins
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, features

from seesay.errors import SeesayError
from seesay.images import io
from seesay.images.io import open_image

RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)


def encode(image: Image.Image, format: str, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def quarters(width: int = 64, height: int = 48) -> Image.Image:
    """Red, green / blue, white: no turn or mirroring of it looks the same."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = RED
    pixels[: height // 2, width // 2 :] = GREEN
    pixels[height // 2 :, : width // 2] = BLUE
    pixels[height // 2 :, width // 2 :] = WHITE
    return Image.fromarray(pixels)


def png_header(width: int, height: int) -> bytes:
    """A PNG that announces a size and has not a single pixel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "WEBP", "GIF"])
def test_lossless_formats_keep_every_pixel(format: str) -> None:
    options = {"lossless": True} if format == "WEBP" else {}
    image = open_image(encode(quarters(), format, **options))
    assert type(image) is Image.Image
    assert image.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(image), np.asarray(quarters()))


@pytest.mark.parametrize("format", ["JPEG", "AVIF"])
def test_lossy_formats_keep_the_colours(format: str) -> None:
    if format == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow was built without AVIF")
    image = open_image(encode(quarters(), format, quality=95, subsampling="4:4:4"))
    np.testing.assert_allclose(np.asarray(image).astype(int), np.asarray(quarters()), atol=12)


def test_path_string_bytes_and_open_image_give_the_same_picture(tmp_path: Path) -> None:
    path = tmp_path / "a photo.png"
    quarters().save(path)
    pictures = [open_image(source) for source in (path, str(path), path.read_bytes(), quarters())]
    assert len({picture.tobytes() for picture in pictures}) == 1


def test_the_first_bytes_decide_and_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(encode(quarters(), "PNG"))
    assert open_image(path).tobytes() == quarters().tobytes()


@pytest.mark.parametrize("format", ["PNG", "TIFF", "JPEG"])
@pytest.mark.parametrize(
    ("orientation", "upright"),
    [
        (1, lambda stored: stored),
        (2, lambda stored: stored[:, ::-1]),
        (3, lambda stored: stored[::-1, ::-1]),
        (4, lambda stored: stored[::-1]),
        (5, lambda stored: stored.transpose(1, 0, 2)),
        (6, lambda stored: np.rot90(stored, -1)),
        (7, lambda stored: np.rot90(stored, 2).transpose(1, 0, 2)),
        (8, lambda stored: np.rot90(stored, 1)),
    ],
)
def test_each_exif_orientation_is_stood_upright_once(
    orientation: int, upright: Callable[[np.ndarray], np.ndarray], format: str
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 95, "subsampling": 0} if format == "JPEG" else {}
    image = open_image(encode(quarters(), format, exif=exif, **options))
    expected = upright(np.asarray(quarters())).astype(int)
    assert image.size == (expected.shape[1], expected.shape[0])
    np.testing.assert_allclose(np.asarray(image).astype(int), expected, atol=12 if format == "JPEG" else 0)
    assert open_image(image).tobytes() == image.tobytes()


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_exif_does_not_know_is_ignored(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert open_image(encode(quarters(), "PNG", exif=exif)).tobytes() == quarters().tobytes()


def test_broken_exif_does_not_refuse_a_good_picture() -> None:
    assert open_image(encode(quarters(), "PNG", exif=b"Exif\0\0MM\0*\xff\xff")).tobytes() == quarters().tobytes()


def test_one_bit_becomes_black_and_white() -> None:
    image = Image.new("1", (2, 1))
    image.putpixel((1, 0), 1)
    opened = open_image(encode(image, "PNG"))
    assert [opened.getpixel((x, 0)) for x in range(2)] == [BLACK, WHITE]


@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_sixteen_bit_grey_is_scaled_and_not_clipped(format: str) -> None:
    image = Image.fromarray(np.array([[0, 257, 32896, 65535]], np.uint16))
    opened = open_image(encode(image, format))
    assert np.asarray(opened)[0].tolist() == [[0] * 3, [1] * 3, [128] * 3, [255] * 3]


def test_sixteen_bit_big_endian_tiff_is_scaled_too() -> None:
    image = Image.frombytes("I;16B", (2, 1), struct.pack(">HH", 65535, 32896))
    assert np.asarray(open_image(encode(image, "TIFF")))[0, :, 0].tolist() == [255, 128]


def test_grey_becomes_three_equal_channels() -> None:
    assert open_image(encode(Image.new("L", (1, 1), 77), "PNG")).getpixel((0, 0)) == (77, 77, 77)


@pytest.mark.parametrize(
    ("cmyk", "rgb"), [((255, 0, 0, 0), (0, 255, 255)), ((0, 255, 255, 0), RED), ((0, 0, 0, 255), BLACK)]
)
@pytest.mark.parametrize("format", ["JPEG", "TIFF"])
def test_cmyk_inks_become_light(cmyk: tuple[int, ...], rgb: tuple[int, ...], format: str) -> None:
    data = encode(Image.new("CMYK", (16, 16), cmyk), format)
    # A CMYK JPEG carries Adobe's marker and stores its inks inverted, a TIFF stores them as they are.
    assert (b"Adobe" in data) == (format == "JPEG")
    np.testing.assert_allclose(open_image(data).getpixel((8, 8)), rgb, atol=2)


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_alpha_is_laid_on_white(mode: str) -> None:
    image = Image.new(mode, (3, 1))
    for x, alpha in enumerate((0, 128, 255)):
        image.putpixel((x, 0), (0,) * (len(mode) - 1) + (alpha,))
    opened = open_image(encode(image, "PNG"))
    assert [opened.getpixel((x, 0)) for x in range(3)] == [WHITE, (127, 127, 127), BLACK]


@pytest.mark.parametrize(("format", "transparency"), [("PNG", 0), ("GIF", 0), ("PNG", b"\x00\xff")])
def test_transparent_palette_entries_turn_white(format: str, transparency: int | bytes) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([*RED, *BLUE])
    image.putpixel((1, 0), 1)
    opened = open_image(encode(image, format, transparency=transparency))
    assert [opened.getpixel((x, 0)) for x in range(2)] == [WHITE, BLUE]


@pytest.mark.parametrize(("mode", "key", "other"), [("L", 0, 9), ("RGB", RED, BLUE)])
def test_a_transparent_colour_key_turns_white(mode: str, key: Any, other: Any) -> None:
    image = Image.new(mode, (2, 1), key)
    image.putpixel((1, 0), other)
    opened = open_image(encode(image, "PNG", transparency=key))
    assert [opened.getpixel((x, 0)) for x in range(2)] == [WHITE, BLUE if mode == "RGB" else (9, 9, 9)]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "I;16", "P", "RGB"])
def test_strips_of_rows_give_the_picture_that_the_whole_gives(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Converted at once, a picture of a hundred million pixels takes several times its own size between."""
    noise = np.random.default_rng(0).integers(0, 256, (30, 23, 4), dtype=np.uint8)
    image = Image.fromarray(noise).convert("RGB" if mode in ("P", "RGB") else "LA" if mode == "LA" else "RGBA")
    options: dict[str, Any] = {}
    if mode == "I;16":
        image = Image.fromarray(noise.view(np.uint16)[:, :, 0].copy())
    elif mode == "P":
        image, options = image.quantize(17), {"transparency": bytes(range(0, 255, 15))}
    elif mode == "RGB":
        options = {"transparency": image.getpixel((4, 4))}
    file = BytesIO()
    image.save(file, "PNG", **options)
    whole = np.asarray(open_image(file.getvalue()))
    monkeypatch.setattr(io, "_STRIP", 7)
    assert np.array_equal(np.asarray(open_image(file.getvalue())), whole)


def test_palette_without_transparency_keeps_its_colours() -> None:
    palette = quarters().convert("P", palette=Image.Palette.ADAPTIVE)
    assert open_image(encode(palette, "PNG")).tobytes() == quarters().tobytes()


@pytest.mark.parametrize("format", ["GIF", "PNG", "WEBP", "TIFF", "MPO"])
def test_the_first_of_several_frames_is_taken(format: str) -> None:
    frames = [Image.new("RGB", (16, 16), colour) for colour in (RED, BLUE, GREEN)]
    options = {"lossless": True} if format == "WEBP" else {}
    opened = open_image(encode(frames[0], format, save_all=True, append_images=frames[1:], **options))
    np.testing.assert_allclose(opened.getpixel((8, 8)), RED, atol=3 if format == "MPO" else 0)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_pixels_without_a_defined_white_are_refused_by_name(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "depth.tiff"
    Image.new(mode, (2, 2)).save(path)
    with pytest.raises(SeesayError, match=rf"depth\.tiff: pixels of mode {mode}"):
        open_image(path)


@pytest.mark.parametrize(
    ("at_least", "size"), [(None, (800, 600)), (600, (800, 600)), (300, (400, 300)), (140, (200, 150)), (75, (100, 75))]
)
def test_a_jpeg_is_decoded_no_smaller_than_asked(at_least: int | None, size: tuple[int, int]) -> None:
    data = encode(quarters(800, 600), "JPEG")
    opened = open_image(data, at_least=at_least)
    assert opened.size == size
    np.testing.assert_allclose(np.asarray(opened)[5, 5].astype(int), RED, atol=3)
    np.testing.assert_allclose(np.asarray(opened)[-5, 5].astype(int), BLUE, atol=3)


def test_reduced_decoding_leaves_formats_that_cannot_do_it_alone() -> None:
    assert open_image(encode(quarters(800, 600), "PNG"), at_least=75).size == (800, 600)


def test_at_least_must_be_positive() -> None:
    with pytest.raises(SeesayError, match="at_least is 0"):
        open_image(quarters(), at_least=0)


@pytest.mark.filterwarnings("error")
def test_a_huge_picture_is_refused_before_decoding_and_without_pillows_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    data = png_header(30_000, 30_000)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda image: pytest.fail("it was decoded"))
    with pytest.raises(SeesayError, match=r"too large \(30000 x 30000\)\n  allowed: up to 100,000,000 pixels"):
        open_image(data)


def test_a_tiff_of_huge_tiles_is_refused_before_one_is_made() -> None:
    """However small the picture is, each tile is decoded whole: two gigabytes for one pixel of it."""
    sides = {256: 10, 257: 10, 258: 8, 259: 8, 262: 1, 277: 1, 322: 20_000, 323: 20_000, 324: 8, 325: 100}
    tags = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in sides.items())
    with pytest.raises(SeesayError, match=r"too large \(in tiles of 20000 x 20000\)"):
        open_image(b"II*\0" + struct.pack("<IH", 8, len(sides)) + tags + bytes(200))


@pytest.mark.filterwarnings("error")
def test_the_pixel_cap_and_not_pillows_decides() -> None:
    with pytest.raises(SeesayError, match="too large"):
        open_image(quarters(), max_pixels=64 * 48 - 1)
    assert open_image(quarters(), max_pixels=64 * 48).size == (64, 48)
    # 200 million pixels are past the limit of Pillow itself: only the missing pixels are complained about.
    with pytest.raises(SeesayError, match="damaged or cut off"):
        open_image(png_header(1_000_000, 200), max_pixels=10**9)


def test_reading_changes_nothing_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "photo.tiff"
    quarters().save(path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    open_image(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["photo.tiff"]


def test_an_open_image_that_is_given_stays_as_it_is() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    given = Image.open(BytesIO(encode(quarters(), "PNG", exif=exif)))
    assert open_image(given).size == (48, 64)
    assert given.size == (64, 48)
    assert given.getexif()[0x0112] == 6


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"hello, I am a text", "not an image of a known format"),
        (b"%PDF-1.7\n", "not an image of a known format"),
        (b"\x89PNG\r\n\x1a\n", "damaged or cut off"),
        (b"\xff\xd8\xff\xe0", "damaged or cut off"),
        (b"GIF89a", "damaged or cut off"),
        (b"BM", "damaged or cut off"),
        (b"II*\0", "damaged or cut off"),
        (b"RIFF\0\0\0\0WEBP", "damaged or cut off"),
        (b"\0\0\0\x14ftypavif\0\0\0\0avif", "damaged or cut off|cannot read AVIF"),
        (encode(quarters(400, 300), "JPEG")[:-400], "damaged or cut off .*truncated"),
        (encode(quarters(400, 300), "PNG")[:-60], "damaged or cut off .*truncated"),
    ],
)
def test_what_is_no_whole_picture_is_refused_with_its_name_and_the_reason(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    with pytest.raises(SeesayError, match=reason) as refusal:
        open_image(path)
    assert str(path) in str(refusal.value)


def test_missing_files_and_folders_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"nothing\.jpg: no such file"):
        open_image(tmp_path / "nothing.jpg")
    with pytest.raises(SeesayError, match="is a folder"):
        open_image(tmp_path)
    with pytest.raises(SeesayError, match="embedded null"):
        open_image("photo\0.jpg")
    with pytest.raises(SeesayError, match="too long"):
        open_image("x" * 5000)


def test_a_file_that_may_not_be_read_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "private.jpg"
    path.write_bytes(encode(quarters(), "JPEG"))

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(
        "seesay.system.reading.os.open", refuse
    )  # root may read everything, so file modes cannot stage this
    with pytest.raises(SeesayError, match=r"private\.jpg: permission denied"):
        open_image(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    with pytest.raises(SeesayError, match="not a regular file"):
        open_image(tmp_path / "pipe.jpg")


def test_other_types_are_refused_by_name() -> None:
    with pytest.raises(SeesayError, match="from a int"):
        open_image(7)  # type: ignore[arg-type]


def test_heic_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_heif(name: str, *rest: Any) -> Any:
        if name == "pillow_heif":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_heif)
    with pytest.raises(SeesayError, match=r"pip install 'seesay\[heic\]'"):
        open_image(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")


def test_heic_opens_where_its_package_is_installed() -> None:
    heif = pytest.importorskip("pillow_heif", reason="needs pillow-heif: pip install 'seesay[heic]'")
    file = BytesIO()
    heif.from_pillow(quarters()).save(file, quality=95)
    np.testing.assert_allclose(np.asarray(open_image(file.getvalue()))[5, 5].astype(int), RED, atol=12)


VALID = {
    "JPEG": encode(quarters(), "JPEG"),
    "progressive JPEG": encode(quarters(), "JPEG", progressive=True, exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"),
    "PNG": encode(quarters(), "PNG"),
    "palette PNG": encode(quarters().convert("P"), "PNG", transparency=0),
    "GIF": encode(quarters(), "GIF", save_all=True, append_images=[quarters().rotate(90)]),
    "BMP": encode(quarters(16, 12), "BMP"),
    "TIFF": encode(quarters(16, 12), "TIFF"),
    "LZW TIFF": encode(quarters(), "TIFF", compression="tiff_lzw"),
    "WEBP": encode(quarters(), "WEBP"),
}


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=400, deadline=None)
@given(
    kind=st.sampled_from(sorted(VALID)),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=6),
    header_flips=st.lists(st.tuples(st.integers(0, 63), st.integers(1, 255)), max_size=3),
    keep=st.one_of(st.just(1.0), st.floats(0, 1)),
)
def test_a_damaged_file_gives_an_image_or_a_seesay_error(
    kind: str, flips: list[tuple[float, int]], header_flips: list[tuple[int, int]], keep: float
) -> None:
    data = bytearray(VALID[kind])
    for position, mask in [(int(share * len(data)), mask) for share, mask in flips] + header_flips:
        data[position] ^= mask
    try:
        image = open_image(bytes(data[: int(keep * len(data))]), max_pixels=250_000, at_least=8)
    except SeesayError:
        return
    assert image.mode == "RGB"
    assert 0 < image.width * image.height <= 250_000


@pytest.mark.parametrize("kind", ["TIFF", "PNG"])
def test_sixty_thousand_tags_that_cannot_be_read_are_not_told_one_by_one(kind: str, tmp_path: Path) -> None:
    tags = b"".join(struct.pack("<HHII", number, 2, 2**32 - 1, 8) for number in range(1, 60_000))
    exif = b"II*\0\x08\0\0\0" + struct.pack("<H", 60_000) + tags
    file = BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG", exif=b"Exif\0\0" + exif)
    (tmp_path / "bomb").write_bytes(exif if kind == "TIFF" else file.getvalue())
    program = (
        "import sys; from seesay.errors import SeesayError; from seesay.images.io import open_image\n"
        "from seesay.library.indexing.metadata import read_metadata\n"
        "try: print(open_image(sys.argv[1]).size); print(read_metadata(open(sys.argv[1], 'rb').read()))\n"
        "except SeesayError as error: print(error.what[:12])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "bomb")], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.startswith("cannot open " if kind == "TIFF" else "(8, 8)")
