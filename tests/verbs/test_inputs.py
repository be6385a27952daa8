"""Images as people give them: one or several, named, from folders too."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.errors import SeesayError
from seesay.verbs.inputs import find_missing, read_image, read_images


def names(images: Any) -> list[str]:
    return [image.name for image in read_images(images)]


def test_an_image_is_called_by_its_path_or_by_its_place() -> None:
    pixels = np.zeros((2, 2, 3), np.uint8)
    assert names([Path("a.jpg"), "b.jpg"]) == ["a.jpg", "b.jpg"]
    assert names([b"bytes", "b.jpg", pixels]) == ["image 1", "b.jpg", "image 3"]


def test_an_opened_file_is_called_by_its_name(cat: Path) -> None:
    with cat.open("rb") as file:
        assert read_image(file).name == str(cat)
    assert read_image(Image.open(cat)).name == str(cat)


@pytest.mark.parametrize("one", ["a.jpg", Path("a.jpg"), b"bytes", io.BytesIO(b"bytes"), np.zeros((3, 2, 3), np.uint8)])
def test_one_image_is_not_taken_for_several(one: Any) -> None:
    assert len(read_images(one)) == 1
    assert len(read_images((one,))) == 1


def test_a_folder_stands_for_its_photos(samples: Path) -> None:
    found = names(samples)
    assert len(found) == 8
    assert found == sorted(found)
    assert str(samples / "cat.jpg") in found


def test_no_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="there are no images"):
        read_images([])
    with pytest.raises(SeesayError, match="there are no photos in"):
        read_images(tmp_path)


def test_missing_files_are_named(cat: Path) -> None:
    images = read_images([cat, "nowhere.jpg", b"bytes"])
    assert find_missing(images) == {"nowhere.jpg": "cannot read nowhere.jpg: No such file or directory"}
