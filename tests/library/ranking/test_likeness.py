"""Photos to be like: by file, by id, or a part of either."""

import os
from pathlib import Path

import pytest
from PIL import ExifTags, Image

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.ranking.likeness import ChangedError, Crop, NotFoundError, find_photo, read_box, read_photo


@pytest.fixture
def both(library: Library, photos: Path) -> Path:
    """A photo that is red at the left and blue at the right, in the library."""
    image = Image.new("RGB", (48, 36), "red")
    image.paste("blue", (24, 0, 48, 36))
    image.save(photos / "both.png")
    library.index(photos, workers=1)
    return photos / "both.png"


def id_of(library: Library, name: str) -> int:
    return next(photo.id for photo in library.latest(99) if photo.path.name == name)


def names(library: Library, **asked: object) -> list[str]:
    return [result.path.name for result in library.search(**asked)]  # type: ignore[arg-type]


def test_a_photo_of_the_library_finds_its_likes_and_not_itself(library: Library, both: Path) -> None:
    for asked in (id_of(library, "both.png"), both):
        found = names(library, like=[asked])
        assert sorted(found) == ["blue.jpg", "green.png", "red.png", "white.png"]
        assert found[-1] == "green.png"


def test_another_photo_that_looks_the_same_is_found(library: Library, both: Path, tmp_path: Path) -> None:
    with Image.open(both) as image:
        image.resize((40, 40)).save(tmp_path / "small.png")
    assert names(library, like=[tmp_path / "small.png"])[0] == "both.png"
    assert names(library, like=[both.read_bytes()])[0] == "both.png"


def test_a_photo_of_the_library_need_not_be_opened_again(library: Library, both: Path) -> None:
    asked = id_of(library, "both.png")
    both.unlink()
    assert len(names(library, like=[asked])) == 4


def test_a_part_finds_what_looks_like_the_part(library: Library, both: Path) -> None:
    for box, colour in (((0.0, 0.0, 0.5, 1.0), "red.png"), ((0.5, 0.2, 1.0, 0.8), "blue.jpg")):
        assert names(library, like=[Crop(both, box)])[0] == colour
        assert names(library, like=[Crop(id_of(library, "both.png"), box)])[0] == colour


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_box_means_the_upright_photo(library: Library, both: Path, tmp_path: Path, orientation: int) -> None:
    how = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that undoes each
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    with Image.open(both) as image:
        turned = image if orientation == 1 else image.transpose(Image.Transpose(how[orientation]))
        turned.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    assert names(library, like=[Crop(tmp_path / "turned.jpg", (0, 0, 0.4, 1))])[0] == "red.png"
    assert names(library, like=[Crop(tmp_path / "turned.jpg", (0.6, 0, 1, 1))])[0] == "blue.jpg"


def test_an_id_that_was_never_given_is_refused(library: Library) -> None:
    for like in (99, Crop(99, (0, 0, 1, 1))):
        with pytest.raises(NotFoundError, match="no photo 99"):
            library.search(like=[like])


@pytest.mark.parametrize("change", ["size", "time"])
def test_a_file_that_is_not_the_one_that_was_indexed_is_not_read(library: Library, both: Path, change: str) -> None:
    photo = find_photo(library.store, id_of(library, "both.png"))
    assert read_photo(photo) == both.read_bytes()
    if change == "size":
        both.write_bytes(both.read_bytes() + b"x")
    os.utime(both, ns=(0, photo.mtime_ns + (change == "time")))
    with pytest.raises(ChangedError, match="has changed since it was indexed"):
        library.search(like=[Crop(photo.id, (0, 0, 1, 1))])


@pytest.mark.parametrize(
    "box",
    ["1", "0,0,1", "0,0,0,1", "0.5,0,0.2,1", "-0.1,0,1,1", "0,0,1,1.1", "0,0,nan,1", "a,b,c,d", "0,0,inf,1", ",,,",
     "0,0,1,1,1"],
)  # fmt: skip
def test_what_is_no_box_inside_the_photo_is_refused(box: str) -> None:
    with pytest.raises(SeesayError, match="the box is"):
        read_box(box)
