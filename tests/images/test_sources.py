"""Everything that an image may be given as opens as the same image."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.images.sources import as_source


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    pixels = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
    Image.fromarray(pixels).save(path)
    return path


@pytest.mark.parametrize(
    "give",
    [
        Path,
        str,
        lambda path: path.read_bytes(),
        lambda path: bytearray(path.read_bytes()),
        lambda path: memoryview(path.read_bytes()),
        lambda path: io.BytesIO(path.read_bytes()),
        lambda path: path.open("rb"),
        lambda path: np.asarray(Image.open(path)),
        lambda path: np.asarray(Image.open(path))[::1, :, :].copy(order="F"),
        Image.open,
    ],
    ids=["path", "text", "bytes", "bytearray", "memoryview", "BytesIO", "file", "array", "Fortran order", "PIL"],
)
def test_every_kind_opens_as_the_same_image(photo: Path, give: Any) -> None:
    assert np.array_equal(np.asarray(open_image(give(photo))), np.arange(60, dtype=np.uint8).reshape(5, 4, 3))


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 1)])
def test_grey_arrays_open_as_grey(shape: tuple[int, ...]) -> None:
    assert open_image(np.full(shape, 7, np.uint8)).getpixel((0, 0)) == (7, 7, 7)


def test_a_transparent_array_lies_on_white() -> None:
    assert open_image(np.zeros((2, 2, 4), np.uint8)).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("pixels", "what"),
    [
        (np.zeros((2, 3, 4, 3), np.uint8), "an array of shape 2x3x4x3 is no image"),
        (np.zeros((4, 3, 2), np.uint8), "an array of shape 4x3x2 is no image"),
        (np.zeros((0, 3, 3), np.uint8), "an array of shape 0x3x3 is no image"),
        (np.zeros((4, 3, 3), np.float32), "the pixels of an array are float32"),
        (np.zeros((4, 3), np.int64), "the pixels of an array are int64"),
    ],
)
def test_an_array_that_is_no_picture_is_refused(pixels: Any, what: str) -> None:
    with pytest.raises(SeesayError) as refused:
        open_image(pixels)
    assert refused.value.what == what
    assert "height, width" in (refused.value.allowed or "")


def test_an_array_is_held_to_the_limit_of_pixels() -> None:
    with pytest.raises(SeesayError, match="too large"):
        open_image(np.zeros((20, 20), np.uint8), max_pixels=100)


def test_a_text_file_is_refused() -> None:
    with pytest.raises(SeesayError, match="gives text"):
        open_image(io.StringIO("text"))  # type: ignore[arg-type]


def test_a_closed_file_is_refused(photo: Path) -> None:
    with photo.open("rb") as file:
        pass
    with pytest.raises(SeesayError, match="cannot read the given file object"):
        open_image(file)


def test_a_file_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.images.sources.LARGEST_FILE", 10)
    with pytest.raises(SeesayError, match="too large"):
        as_source(io.BytesIO(b"x" * 11))


@pytest.mark.parametrize("thing", [None, 3, 2.5, {}])
def test_other_things_are_refused(thing: Any) -> None:
    with pytest.raises(SeesayError, match="cannot open an image from a"):
        as_source(thing)
