"""The page of alignments in a real browser, opened as a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay import data
from seesay.evaluation.page import write_page
from seesay.models.aligner import load_aligner


@pytest.fixture(scope="module")
def folder(halves: Path, aligner_run: Path, colours_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of thirty pictures, more than one screenful of cards holds."""
    folder = tmp_path_factory.mktemp("alignments") / "page"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        aligner = load_aligner(aligner_run / "weights")
        write_page(aligner, data.load(halves), folder, title="Halves", n_sentences=2, proposals="grid-1x2")
    return folder


@pytest.fixture
def page(open_file: Callable[[Path], Any], folder: Path) -> Any:
    return open_file(folder / "index.html")


def lit_region(page: Any, card: int = 0) -> Any:
    return page.locator("article").nth(card).locator("figure.lit .region")


def test_it_says_what_it_is_and_shows_pictures_with_sentences(page: Any) -> None:
    assert page.title() == page.locator("h1").inner_text() == "Halves"
    assert page.locator("article").count() == 24
    assert page.locator("article").first.locator("li").count() == 2
    assert page.evaluate("document.querySelector('article img').naturalWidth") > 0


def test_pointing_at_a_phrase_lights_its_region_until_one_leaves(page: Any) -> None:
    assert lit_region(page).count() == 0
    shares = set()
    for card in range(page.locator("article").count()):
        article = page.locator("article").nth(card)
        article.locator(".part:not(.faint)").first.hover()
        region, picture = lit_region(page, card).bounding_box(), article.locator("img").first.bounding_box()
        shares.add(round(region["width"] / picture["width"], 1))
        assert region["height"] == pytest.approx(picture["height"], abs=2)
    assert shares == {0.5, 1.0}  # the boxes are halves, and the whole
    page.mouse.move(2, 2)
    assert page.locator("figure.lit").count() == 0


def test_the_keyboard_reaches_every_phrase_and_says_where_it_is(page: Any) -> None:
    page.locator("#wrong").focus()
    page.keyboard.press("Tab")
    sentence = page.locator("article").first.locator("li").first
    phrases = sentence.locator(".part").all_inner_texts()
    reached = [page.evaluate("document.activeElement.textContent")]
    for _ in phrases[1:]:
        page.keyboard.press("ArrowRight")
        reached.append(page.evaluate("document.activeElement.textContent"))
    assert reached == phrases
    assert lit_region(page).count() == 1
    assert page.locator("#said").inner_text().startswith(f"{phrases[-1]}: from ")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('li').previousElementSibling !== null")
    page.keyboard.press("Escape")
    assert lit_region(page).count() == 0


def test_words_choose_pictures_and_can_choose_none(page: Any) -> None:
    page.get_by_label("Find words").fill("red blue")
    for card in page.locator("article").all():
        assert any({"red", "blue"} <= set(words.split()) for words in card.locator(".words").all_inner_texts())
    page.get_by_label("Find words").fill("zorblax")
    assert page.locator("article").count() == 0
    assert page.locator(".none").inner_text() == "No sentence here has these words."


def test_pages_are_turned_and_end(page: Any) -> None:
    page.get_by_role("button", name="Next").click()
    assert page.locator("article").count() == 6
    assert page.locator("#page").inner_text() == "page 2 of 2, 30 photos"
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_role("button", name="Previous").click()
    assert page.locator("article").count() == 24


@pytest.mark.parametrize("width", [360, 768])
def test_a_phone_needs_no_sideways_scrolling(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 780})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
