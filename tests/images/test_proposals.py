"""Candidate regions of many pictures: the same as for one, and searched for once."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seesay.errors import SeesayError
from seesay.images import proposals
from seesay.images.io import open_image
from seesay.images.proposals import proposals_of, propose_regions
from seesay.images.regions import selective_search, windows


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    for number in range(3):
        pixels = np.full((40, 60, 3), 200, np.uint8)
        pixels[5 : 20 + 5 * number, 10:30] = (250, 20 * number, 30)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    return sorted(tmp_path.glob("*.png"))


def test_fixed_schemes_are_the_same_for_all_and_open_nothing(tmp_path: Path) -> None:
    found = proposals_of([tmp_path / "absent.jpg"] * 2, "windows-5")
    assert [boxes.tolist() for boxes in found] == [windows(5).tolist()] * 2


def test_searched_regions_are_those_of_each_picture_in_the_order_asked_for(photos: list[Path], tmp_path: Path) -> None:
    found = proposals_of(photos[::-1], "search-8", root=tmp_path / "store")
    for path, boxes in zip(photos[::-1], found, strict=True):
        np.testing.assert_allclose(boxes, selective_search(open_image(path), 8), atol=1e-3)  # kept in half precision
        assert boxes[0].tolist() == [0, 0, 1, 1]
    assert not np.allclose(found[0], found[-1], atol=1e-3)


def test_a_picture_is_searched_once(photos: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = proposals_of(photos[:2], "search-8", root=tmp_path / "store")
    seen: list[tuple[int, int]] = []
    again = proposals_of(photos, "search-8", root=tmp_path / "store", on_progress=lambda *n: seen.append(n))
    assert seen == [(3, 3)]
    monkeypatch.setattr(proposals, "selective_search", lambda *_: pytest.fail("searched again"))
    for one, other in zip(first, proposals_of(photos[:2], "search-8", root=tmp_path / "store"), strict=True):
        assert (one == other).all()
    assert len(again) == 3


@pytest.mark.parametrize("scheme", ["search", "search-x", "everything"])
def test_an_unknown_scheme_is_answered_with_the_known_ones(scheme: str) -> None:
    for ask in (lambda: propose_regions(Image.new("RGB", (9, 9)), scheme), lambda: proposals_of([], scheme)):
        with pytest.raises(SeesayError, match=r"no region scheme .*\n  allowed: search-N, whole, windows-N, grid-RxC"):
            ask()
