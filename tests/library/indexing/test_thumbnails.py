"""Small pictures."""

from io import BytesIO

import pytest
from PIL import Image

from seesay.library.indexing.thumbnails import SIDE, make_thumbnail


@pytest.mark.parametrize(
    ("size", "small"),
    [
        ((1600, 1200), (320, 240)),
        ((300, 900), (107, 320)),
        ((100, 50), (100, 50)),
        ((5000, 2), (320, 1)),
        ((1, 1), (1, 1)),
    ],
)
def test_the_longest_side_is_bounded_and_nothing_is_enlarged(size: tuple[int, int], small: tuple[int, int]) -> None:
    opened = Image.open(BytesIO(make_thumbnail(Image.new("RGB", size, "red"))))
    assert (opened.format, opened.mode, opened.size) == ("JPEG", "RGB", small)
    assert max(opened.size) <= SIDE


def test_the_picture_itself_stays_as_it_is() -> None:
    image = Image.new("RGB", (1600, 1200))
    make_thumbnail(image)
    assert image.size == (1600, 1200)


def test_no_metadata_travels_with_it() -> None:
    image = Image.new("RGB", (640, 480))
    exif = Image.Exif()
    exif[0x010F] = "Canon"
    image.info.update(exif=exif.tobytes(), comment=b"at home", icc_profile=b"profile" * 20)
    data = make_thumbnail(image)
    assert b"Exif" not in data
    assert b"at home" not in data
    assert b"profile" not in data
