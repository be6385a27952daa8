"""Which phrases about regions are kept, and what the packaged captioner says of real photos."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seesay import data
from seesay.captioning.sentences import Caption
from seesay.grounding.describing import Described, describe_boxes, describe_image, keep_different, only_phrases
from seesay.images.io import open_image
from seesay.images.regions import fixed_regions
from seesay.metrics.grounding import box_iou
from seesay.runtime.matching import Model

Edges = tuple[float, float, float, float]
LEFT, RIGHT, HEAD = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0), (0.1, 0.0, 0.4, 0.4)


def said(text: str, box: Edges) -> Described:
    return Described(box, Caption(text, tuple(text.split()), 0.0, True))


def kept(*regions: Described, n: int = 9) -> list[str]:
    return [region.caption.text for region in keep_different(regions, n)]


class TestKeeping:
    def test_what_was_said_before_is_not_said_again_anywhere(self) -> None:
        assert kept(said("a dog", LEFT), said("a dog", RIGHT), said("a ball", RIGHT)) == ["a dog", "a ball"]

    def test_a_place_is_described_once(self) -> None:
        assert kept(said("a dog", LEFT), said("the grass", (0, 0, 0.52, 1))) == ["a dog"]

    def test_a_part_of_a_thing_is_not_called_by_its_name_again(self) -> None:
        assert kept(said("a dog", LEFT), said("a brown dog", HEAD), said("its mouth", HEAD)) == ["a dog", "its mouth"]
        assert kept(said("a dog", LEFT), said("a brown dog", RIGHT)) == ["a dog", "a brown dog"]

    def test_whoever_is_a_boy_is_not_also_a_man(self) -> None:
        assert kept(said("a boy", LEFT), said("a man", HEAD), said("a man", RIGHT)) == ["a boy", "a man"]

    def test_there_are_no_more_than_wanted(self) -> None:
        assert kept(said("a dog", LEFT), said("a ball", RIGHT), said("a hat", HEAD), n=2) == ["a dog", "a ball"]


@pytest.fixture(scope="module")
def photo_of(shared_data: Path) -> Callable[[str], Path]:
    """A test photo of Flickr8K whose every sentence has a word."""
    items = data.load("flickr8k").split("test").items

    def find(word: str) -> Path:
        path = next(
            item.image
            for item in items
            if item.image and item.image.is_file() and all(word in text.lower().split() for text in item.sentences)
        )
        assert path is not None
        return path

    return find


def test_real_photos_are_described_by_phrases_about_different_places(photo_of: Callable[[str], Path]) -> None:
    found = describe_image(Model("dvsa-captions"), Model("dvsa"), open_image(photo_of("dog")), n=4)
    assert 1 <= len(found) <= 4
    assert any("dog" in region.caption.words or "dogs" in region.caption.words for region in found)
    assert only_phrases([region.caption for region in found]) == [region.caption for region in found]
    assert [region.fit for region in found] == sorted((region.fit or 0 for region in found), reverse=True)
    overlaps = box_iou(np.array([region.box for region in found]), np.array([region.box for region in found]))
    assert (overlaps - np.eye(len(found))).max() < 0.5


def test_a_region_of_ones_own_is_described_as_it_is(photo_of: Callable[[str], Path]) -> None:
    describer = Model("dvsa-captions")
    boxes = fixed_regions("grid-1x2")[1:]
    found = describe_boxes(describer, describer.features([open_image(photo_of("dog"))]), boxes)
    assert [region.box for region in found] == [LEFT, RIGHT]
    assert all(region.caption.text and region.fit is None for region in found)
