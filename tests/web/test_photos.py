"""Photos are found by id, judged by what lies there, and sent without what their files tell."""

import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.ranking.likeness import ChangedError, NotFoundError, find_photo, read_photo
from seesay.library.types import Photo
from seesay.web.photos import draw_photo, open_photo, shown


def photo_at(path: Path, **about: object) -> Photo:
    with Image.open(path) as image:
        width, height = image.size
    photo = Photo(1, path, 1, path.stat().st_size, path.stat().st_mtime_ns, "2020-01-01", width, height, None, None)
    return replace(photo, **about)  # type: ignore[arg-type]


@pytest.fixture
def arrow(tmp_path: Path) -> Path:
    """A photo whose top left quarter is red."""
    pixels = np.full((80, 120, 3), 255, np.uint8)
    pixels[:40, :60] = (255, 0, 0)
    Image.fromarray(pixels).save(tmp_path / "arrow.png")
    return tmp_path / "arrow.png"


def test_an_id_that_was_never_given_is_no_photo(library: Library) -> None:
    with pytest.raises(NotFoundError, match="no photo 99"):
        find_photo(library.store, 99)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_is_shown_upright(arrow: Path, tmp_path: Path, orientation: int) -> None:
    how = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that undoes each
    image = Image.open(arrow)
    stored = image if orientation == 1 else image.transpose(Image.Transpose(how[orientation]))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    stored.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    photo = photo_at(tmp_path / "turned.jpg", width=120, height=80)
    drawn = Image.open(BytesIO(draw_photo(photo, 120)))
    assert drawn.size == (120, 80)
    assert dict(drawn.getexif()) == {}
    pixels = np.asarray(drawn, int)
    assert abs(pixels[20, 30] - [255, 0, 0]).max() < 30
    assert min(pixels[60, 30].min(), pixels[20, 90].min(), pixels[60, 90].min()) > 225
    assert open_photo(photo).size == (120, 80)


def test_what_is_sent_tells_nothing_but_pixels(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "SecretCam"
    exif.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitude] = (52.0, 31.0, 0.0)
    path = tmp_path / "here.jpg"
    Image.new("RGB", (200, 100), "blue").save(path, exif=exif, comment=b"at home", icc_profile=b"secret profile")
    assert b"SecretCam" in path.read_bytes()
    sent = draw_photo(photo_at(path), 100)
    assert Image.open(BytesIO(sent)).size == (100, 50)
    for secret in (b"SecretCam", b"at home", b"secret profile", b"Exif"):
        assert secret not in sent


def test_a_small_photo_is_not_blown_up(arrow: Path) -> None:
    assert Image.open(BytesIO(draw_photo(photo_at(arrow), 1600))).size == (120, 80)


def test_a_file_that_is_gone_is_told(arrow: Path) -> None:
    photo = photo_at(arrow)
    arrow.unlink()
    with pytest.raises(ChangedError, match=r"arrow\.png cannot be opened"):
        read_photo(photo)


def test_another_file_in_its_place_is_not_shown(arrow: Path) -> None:
    photo = photo_at(arrow)
    Image.new("RGB", (300, 300)).save(arrow)
    with pytest.raises(ChangedError, match="has changed since it was indexed"):
        draw_photo(photo, 100)


def test_a_picture_of_the_same_size_in_bytes_and_another_in_pixels_is_noticed(arrow: Path) -> None:
    with pytest.raises(ChangedError, match="has changed"):
        open_photo(photo_at(arrow, width=121))


def test_a_link_to_a_secret_in_its_place_is_not_followed_into_a_picture(arrow: Path, tmp_path: Path) -> None:
    photo = photo_at(arrow)
    secret = tmp_path / "secret.txt"
    secret.write_bytes(b"x" * photo.size)
    os.utime(secret, ns=(photo.mtime_ns, photo.mtime_ns))
    arrow.unlink()
    arrow.symlink_to(secret)
    with pytest.raises(SeesayError, match="not an image"):
        draw_photo(photo, 100)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_its_place_does_not_block(arrow: Path) -> None:
    photo = photo_at(arrow)
    arrow.unlink()
    os.mkfifo(arrow)
    with pytest.raises(ChangedError, match="has changed"):
        read_photo(photo)


def test_a_folder_in_its_place_is_no_photo(arrow: Path) -> None:
    photo = photo_at(arrow)
    arrow.unlink()
    arrow.mkdir()
    with pytest.raises(ChangedError):
        read_photo(photo)


def test_an_error_names_the_file_and_not_the_way_to_it(arrow: Path, tmp_path: Path) -> None:
    photo = photo_at(arrow)
    arrow.unlink()
    with pytest.raises(ChangedError) as error:
        read_photo(photo)
    assert str(tmp_path) not in str(error.value)


def test_a_name_that_is_no_text_can_be_shown() -> None:
    assert shown(Path(os.fsdecode(b"/photos/caf\xe9\xff.jpg"))) == "/photos/caf\\xe9\\xff.jpg"
