from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data.photos import Photos, is_photo_name, photo_id
from seesay.errors import SeesayError


@pytest.fixture
def folder(tmp_path: Path, paint: Callable[..., Path]) -> Path:
    for name in ("top.jpg", "one/b.jpg", "one/two/c.jpg", "one/two/three/d.jpg", "images/00/112.jpg", "one/7_ab.jpg"):
        paint(tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", ["top.jpg", "b.jpg", "c.jpg", "one/b.jpg", "two/c.jpg", "00/112.jpg"])
def test_images_are_found_up_to_two_folders_down(folder: Path, name: str) -> None:
    found = Photos(folder).find(name)
    assert found is not None
    assert found.is_file()
    assert found.as_posix().endswith(f"/{name}")


@pytest.mark.parametrize("name", ["d.jpg", "e.jpg", "00/113.jpg", "99/112.jpg", "one", ""])
def test_what_is_deeper_or_absent_is_not_found_however_often_asked(folder: Path, name: str) -> None:
    photos = Photos(folder)
    assert [photos.find(name), photos.find(name)] == [None, None]
    assert photos.find("top.jpg") == folder / "top.jpg"


def test_an_absolute_name_is_taken_at_its_word(folder: Path) -> None:
    deep = folder / "one/two/three/d.jpg"
    assert Photos(folder / "images").find(str(deep)) == deep
    assert Photos(folder).find(str(folder / "gone.jpg")) is None


def test_flickr_numbers_are_matched_only_on_request(folder: Path) -> None:
    assert Photos(folder).find("7.jpg") is None
    assert Photos(folder, flickr_ids=True).find("7.jpg") == folder / "one/7_ab.jpg"


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"there is no folder .*gone to find the images in\n  allowed: "):
        Photos(tmp_path / "gone")


def test_names_tell_photos_and_their_numbers() -> None:
    assert [is_photo_name(name) for name in ("a.JPG", "a.jpeg", "a.txt", "jpg")] == [True, True, False, False]
    assert photo_id("2258277193_586949ec62.jpg.1") == "2258277193"


@pytest.mark.parametrize(
    "name", ["a\0b.jpg", "..\0/b.jpg", "/a\0.jpg", "a" * 5000, "/" + "a/" * 3000 + "b.jpg"], ids=range(5)
)
def test_a_name_that_no_file_can_have_is_not_found(tmp_path: Path, name: str) -> None:
    assert Photos(tmp_path).find(name) is None
