"""What a file says about itself, and that nothing it says can do harm."""

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.library.indexing.metadata import Metadata, read_metadata

Base = ExifTags.Base


def photo(format: str = "JPEG", camera: dict[int, Any] | None = None, **tags: Any) -> bytes:
    """A file of 40 × 30 pixels with EXIF tags by name; `camera` are those of EXIF's own directory."""
    exif = Image.Exif()
    for name, value in tags.items():
        exif[Base[name]] = value
    if camera:
        exif.get_ifd(ExifTags.IFD.Exif).update(camera)
    file = BytesIO()
    Image.new("RGB", (40, 30)).save(file, format, exif=exif)
    return file.getvalue()


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_the_date_of_the_shot_goes_before_other_dates(format: str) -> None:
    data = photo(
        format,
        {Base.DateTimeOriginal: "2019:07:04 12:30:00", Base.DateTimeDigitized: "2020:01:01 00:00:00"},
        DateTime="2021:01:01 00:00:00",
    )
    assert read_metadata(data).taken == "2019-07-04T12:30:00"


def test_without_it_the_next_best_date_is_taken() -> None:
    digitized = {Base.DateTimeDigitized: "2020:01:01 00:00:00"}
    assert read_metadata(photo(camera=digitized, DateTime="2021:01:01 00:00:00")).taken == "2020-01-01T00:00:00"
    assert read_metadata(photo(DateTime="2021:01:01 00:00:00")).taken == "2021-01-01T00:00:00"
    broken = {Base.DateTimeOriginal: "0000:00:00 00:00:00"}
    assert read_metadata(photo(camera=broken, DateTime="2021:01:01 00:00:00")).taken == "2021-01-01T00:00:00"


@pytest.mark.parametrize(
    "date", ["    :  :     :  :  ", "2019:13:01 00:00:00", "2019:01:01 25:00:00", "yesterday", "", "9999999999"]
)
def test_what_is_no_date_is_none(date: str) -> None:
    assert read_metadata(photo(DateTime=date)).taken is None


@pytest.mark.parametrize(
    ("make", "model", "camera"),
    [
        ("Canon", "Canon EOS 5D", "Canon EOS 5D"),
        ("Google", "Pixel 3", "Google Pixel 3"),
        ("NIKON CORPORATION", "NIKON D750", "NIKON D750"),
        ("", "Pixel 3", "Pixel 3"),
        ("Sony", "", "Sony"),
        (" \t", " ", None),
        ("a" * 500, "b" * 500, "a" * 100),
        ("Evil\x1b[31m\nCam", "X", "Evil [31m Cam X"),
    ],
)
def test_maker_and_model_are_one_name(make: str, model: str, camera: str | None) -> None:
    assert read_metadata(photo(Make=make, Model=model)).camera == camera


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_size_is_that_of_the_upright_picture(format: str, orientation: int) -> None:
    data = photo(format, Orientation=orientation)
    about = read_metadata(data)
    assert (about.width, about.height) == open_image(data).size


def test_a_picture_without_metadata_has_its_size() -> None:
    file = BytesIO()
    Image.new("L", (7, 5)).save(file, "GIF")
    assert read_metadata(file.getvalue()) == Metadata(7, 5)


WHOLE = photo(camera={Base.DateTimeOriginal: "2019:07:04 12:30:00"}, Make="Canon", Model="EOS", Orientation=6)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60)
@given(flips=st.lists(st.tuples(st.integers(0, 250), st.integers(1, 255)), min_size=1, max_size=8))
def test_any_damage_gives_metadata_that_can_be_stored_or_a_seesay_error(flips: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, mask in flips:
        data[place] ^= mask
    try:
        open_image(bytes(data), max_pixels=100_000)
        about = read_metadata(bytes(data))
    except SeesayError:
        return
    assert about.taken is None or len(about.taken) == 19
    assert about.camera is None or about.camera.isprintable()
