"""The map of pictures and sentences in a real browser, opened as a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.drawing.maps import Map, write_map

HOSTILE = '</script><img src=x onerror="document.title=1"> a blue square'


@pytest.fixture
def page(open_file: Callable[[Path], Any], tmp_path: Path) -> Any:
    found = Map(np.array([[0.1, 0.1], [0.9, 0.9]]), np.array([[0.2, 0.3], [0.8, 0.6], [0.7, 0.9]]), np.array([0, 1, 1]))
    pictures = [Image.new("RGB", (60, 40), "red"), Image.new("RGB", (40, 60), "blue")]
    file = tmp_path / "map.html"
    write_map(found, pictures, ["red.png", "blue.png"], ["a red square", HOSTILE, "blue"], file, title="Two squares")
    return open_file(file)


def test_every_picture_and_every_sentence_has_its_place(page: Any) -> None:
    assert page.title() == page.locator("h1").inner_text() == "Two squares"
    assert page.locator("g.picture").count() == 2
    assert page.locator("circle").count() == page.locator("line").count() == 3


def test_a_picture_that_is_reached_with_the_keyboard_shows_its_sentences_as_text(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.locator("aside li").all_inner_texts() == ["a red square"]
    page.keyboard.press("Tab")
    assert page.locator("aside li").all_inner_texts() == [HOSTILE, "blue"]
    assert page.locator("g.picture.shown").count() == 1


def test_a_chosen_picture_stays_until_escape(page: Any) -> None:
    page.locator("g.picture").first.click()
    page.mouse.move(5, 5)
    assert page.locator("svg.some").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("svg.some").count() == 0


def test_the_wheel_zooms_where_the_pointer_is_and_dragging_moves(page: Any) -> None:
    world = page.locator("svg > g")
    middle = page.locator("svg").bounding_box()
    x, y = middle["x"] + middle["width"] / 2, middle["y"] + middle["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(0, -400)
    page.wait_for_function("document.querySelector('svg > g').getAttribute('transform')?.includes('scale(1.8')")
    before = world.get_attribute("transform")
    page.mouse.down()
    page.mouse.move(x + 60, y)
    page.mouse.up()
    assert world.get_attribute("transform") != before
