"""Maps keep neighbours together, and their pages cannot be broken by a sentence."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seesay.drawing.maps import Map, draw_map, lay_out, mean_line, write_map
from seesay.drawing.overlay import PALETTE
from seesay.errors import SeesayError


def clusters(n: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Pictures far from each other, each with three sentences near it."""
    generator = np.random.default_rng(seed)
    images = np.eye(n, 12)
    owner = [picture for picture in range(n) for _ in range(3)]
    return images, images[owner] + generator.normal(0, 0.02, (3 * n, 12)), owner


def test_sentences_stay_near_their_picture_and_the_map_fills_its_sheet() -> None:
    images, sentences, owner = clusters()
    found = lay_out(images, sentences, owner)
    own, any_ = mean_line(found)
    assert own < 0.5 * any_
    together = np.concatenate([found.images, found.sentences])
    assert together.min(axis=0).tolist() == [0.0, 0.0]
    assert together.max(axis=0) == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_map() -> None:
    first, second = lay_out(*clusters(), seed=1), lay_out(*clusters(), seed=1)
    assert np.array_equal(first.images, second.images)


@pytest.mark.parametrize(("n", "owner"), [(1, [0]), (3, [0, 5, 1])])
def test_too_few_things_and_sentences_of_no_picture_are_refused(n: int, owner: list[int]) -> None:
    with pytest.raises(SeesayError, match=f"a map of {n} images"):
        lay_out(np.eye(n, 4), np.ones((len(owner), 4)), owner)


TWO = Map(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.5]]), np.array([0, 1]))
PICTURES = [Image.new("RGB", (80, 40), "red"), Image.new("RGB", (40, 80), "blue")]


def test_thumbnails_dots_and_lines_stand_in_their_places() -> None:
    drawn = draw_map(TWO, PICTURES, width=400, thumbnail=40)
    assert drawn.size == (400, 288)
    assert drawn.getpixel((30, 30)) == (255, 0, 0)
    assert drawn.getpixel((370, 258)) == (0, 0, 255)
    assert drawn.getpixel((30, 258)) == PALETTE[0]
    assert drawn.getpixel((370, 144)) == PALETTE[1]
    with pytest.raises(SeesayError, match="1 photos for a map of 2"):
        draw_map(TWO, PICTURES[:1])


def test_a_page_holds_everything_and_no_sentence_ends_its_script(tmp_path: Path) -> None:
    page = tmp_path / "map.html"
    hostile = "</script><script>alert(1)</script> — “naïve”"
    write_map(TWO, PICTURES, ["a.jpg", "b.jpg"], [hostile, "blue"], page, title="Two <pictures>")
    text = page.read_text(encoding="utf-8")
    assert text.count("</script>") == 1
    assert not re.search(r"(?:src|href)=[\"']?https?:", text)
    found = re.search(r"const MAP = (\{.*\});\n", text)
    assert found is not None
    about = json.loads(found[1])
    assert about["title"] == "Two <pictures>"
    assert [row["name"] for row in about["pictures"]] == ["a.jpg", "b.jpg"]
    assert about["pictures"][0]["sentences"] == [{"text": hostile, "at": [0.0, 1.0]}]
    assert all(row["picture"].startswith("data:image/jpeg;base64,") for row in about["pictures"])
