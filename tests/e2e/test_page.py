"""The page in a real browser, with the shipped models and the sample photos."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import ExifTags, Image

import seesay
from seesay.library.library import Library
from seesay.web.access import Access
from seesay.web.server import running

SAMPLES = Path(seesay.__file__).parent / "samples"
WAIT = 30_000  # milliseconds; models are loaded on the way, on a machine that may be busy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample photos, one of which knows when and with what it was taken."""
    folder = tmp_path_factory.mktemp("pages") / "photos"
    (folder / "space").mkdir(parents=True)
    for photo in SAMPLES.glob("*.jpg"):
        shutil.copy(photo, folder / ("space" if photo.stem in ("rocket", "galaxies") else "") / photo.name)
    exif = Image.Exif()
    exif[ExifTags.Base.Model] = "Testcam 3000"
    exif[ExifTags.Base.DateTime] = "2014:05:06 07:08:09"
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = "2014:05:06 07:08:09"
    with Image.open(SAMPLES / "cat.jpg") as cat:
        cat.save(folder / "cat.jpg", exif=exif, quality=90)
    return folder


@pytest.fixture(scope="module")
def address(folder: Path, chromium: Any) -> Iterator[str]:
    """The page with these photos indexed."""
    with Library(folder.parent / "library") as library:
        library.index(folder)
        with running(library, Access.for_host("127.0.0.1")) as address:
            yield address


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Open the page; at the end nothing was asked of another site and no script has failed."""
    contexts: list[Any] = []
    asked: list[str] = []
    faults: list[str] = []

    def open_page(where: str = "", **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
        page.goto(address + where)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith((address, f"blob:{address.rstrip('/')}"))] == []
    assert faults == []


def expect(locator: Any) -> Any:
    """What becomes true of an element. The page forbids scripts from strings, which other ways of waiting need."""
    from playwright.sync_api import expect

    expect.set_options(timeout=WAIT)
    return expect(locator)


def tiles(page: Any) -> Any:
    return page.locator("#grid a.tile")


def first(page: Any, name: str) -> None:
    """Wait until a photo is the first one."""
    expect(tiles(page).first).to_have_attribute("aria-label", re.compile(f"^{re.escape(name)}"))


def open_photo(page: Any, name: str) -> None:
    page.locator(f'#grid a.tile[aria-label^="{name}"]').click()
    page.wait_for_selector("#viewer[open]")
    expect(page.locator("#figure")).to_have_attribute("aria-busy", "false")


def heat(page: Any) -> int:
    """How much of the heat map is drawn."""
    return int(
        page.evaluate(
            """() => {
              const canvas = document.getElementById("heat");
              if (!canvas.width || !canvas.height) return 0;
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              return data.reduce((sum, value, place) => sum + (place % 4 === 3 ? value : 0), 0);
            }"""
        )
    )


def expect_heat(page: Any, *, lit: bool) -> None:
    """Wait until some of the heat map is drawn, or none."""
    for _ in range(600):
        if (heat(page) > 0) == lit:
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the heat map is {'dark' if lit else 'lit'} after half a minute")


def test_the_latest_photos_are_there_at_once(visit: Callable[..., Any]) -> None:
    page = visit()
    expect(tiles(page)).to_have_count(8)
    assert page.title() == "seesay"
    expect(page.locator("#count")).to_have_text("8 photos")


def test_nothing_moves_while_the_page_fills(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat")
    first(page, "cat.jpg")
    expect(page.locator("#count")).to_have_text("8 photos")
    moved = page.evaluate(
        """() => new Promise((tell) => new PerformanceObserver((seen) =>
              tell(seen.getEntries().reduce((sum, shift) => sum + shift.value, 0)))
            .observe({ type: "layout-shift", buffered: true }) ?? setTimeout(() => tell(0), 500))"""
    )
    assert moved < 0.01


def test_nothing_is_likely_is_said_exactly_then(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+horse+in+a+river")
    expect(tiles(page)).to_have_count(8)
    said = page.locator("#grid .divider").filter(has_text="Nothing is likely to fit")
    expect(said).to_have_count(1)
    page.goto(page.url.replace("horse+in+a+river", "close+up+of+a+cat"))
    first(page, "cat.jpg")
    expect(said).to_have_count(0)


def test_results_come_while_one_types(visit: Callable[..., Any]) -> None:
    page = visit()
    page.get_by_role("searchbox").press_sequentially("a cup of coffee", delay=5)
    first(page, "coffee.jpg")
    expect(page).to_have_url(re.compile(r"q=a\+cup\+of\+coffee"))
    page.get_by_role("searchbox").fill("a close up of a cat")
    first(page, "cat.jpg")
    expect(page.locator("#title")).to_have_text("“a close up of a cat”")


def test_what_is_typed_with_pauses_is_one_step_to_go_back_by(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cup+of+coffee")
    first(page, "coffee.jpg")
    for typed in ("a close up", "a close up of a cat"):
        page.get_by_role("searchbox").fill(typed)
        expect(page).to_have_url(re.compile(typed.replace(" ", r"\+") + "$"))  # as one waits
    page.keyboard.press("Enter")
    page.go_back()
    expect(page.get_by_role("searchbox")).to_have_value("a cup of coffee")


def test_an_address_shows_what_it_says(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cup+of+coffee+on+a+table")
    first(page, "coffee.jpg")
    expect(page.get_by_role("searchbox")).to_have_value("a cup of coffee on a table")


def test_filters_restrict_and_can_be_taken_back(visit: Callable[..., Any]) -> None:
    page = visit()
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Camera").fill("testcam")
    expect(tiles(page)).to_have_count(1)
    first(page, "cat.jpg")
    page.get_by_role("button", name="Remove the filter camera testcam").click()
    expect(tiles(page)).to_have_count(8)
    page.get_by_label("In", exact=True).fill("space")
    expect(tiles(page)).to_have_count(2)


def test_parts_of_photos_are_found_and_framed(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat")
    first(page, "cat.jpg")
    expect(page.locator("#grid .box")).to_have_count(0)
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Look at").select_option("parts of photos")
    expect(page.locator("#grid .box")).to_have_count(8)
    first(page, "cat.jpg")
    page.get_by_role("button", name="Remove the filter look at parts").click()
    expect(page.locator("#grid .box")).to_have_count(0)


def test_nothing_found_is_said_with_a_way_out(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat&before=1990")
    page.get_by_role("heading", name="No photo fits").wait_for()
    page.get_by_role("button", name="Clear the filters").click()
    first(page, "cat.jpg")


def test_a_photo_opens_over_the_page_and_closes_to_where_one_was(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat")
    first(page, "cat.jpg")
    open_photo(page, "cat.jpg")
    expect(page).to_have_url(re.compile("photo="))
    expect(page.locator("#facts")).to_contain_text("Testcam 3000")
    page.keyboard.press("Escape")
    page.wait_for_selector("#viewer:not([open])", state="attached")
    expect(page.locator('#grid a.tile[aria-label^="cat.jpg"]')).to_be_focused()
    expect(page).not_to_have_url(re.compile("photo="))


def test_going_back_closes_the_photo(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat")
    first(page, "cat.jpg")
    open_photo(page, "cat.jpg")
    page.go_back()
    page.wait_for_selector("#viewer:not([open])", state="attached")
    first(page, "cat.jpg")


def test_arrows_lead_from_photo_to_photo(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat")
    first(page, "cat.jpg")
    names = [label.partition(",")[0] for label in tiles(page).evaluate_all("all => all.map((a) => a.ariaLabel)")]
    open_photo(page, "cat.jpg")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#photo-name")).to_have_text(names[1])
    page.get_by_role("button", name="Previous photo").click()
    expect(page.locator("#photo-name")).to_have_text("cat.jpg")


def test_a_word_lights_up_where_it_is_by_mouse_and_by_keyboard(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+man+with+a+camera+on+a+tripod")
    first(page, "photographer.jpg")
    open_photo(page, "photographer.jpg")
    tripod = page.locator("#words .word", has_text="tripod")
    tripod.wait_for()
    expect_heat(page, lit=False)
    tripod.hover()
    page.wait_for_selector("#box:not([hidden])")
    expect_heat(page, lit=True)
    expect(page.locator("#word-note")).to_contain_text("tripod")
    page.mouse.move(5, 5)
    page.wait_for_selector("#box[hidden]", state="attached")
    expect_heat(page, lit=False)
    page.locator("#words .word", has_text="camera").focus()
    expect_heat(page, lit=True)


def test_another_sentence_can_be_asked_about(visit: Callable[..., Any]) -> None:
    page = visit("")
    open_photo(page, "photographer.jpg")
    expect(page.locator("#why-title")).to_have_text("Ask about this photo")
    page.get_by_label("A sentence about this photo").fill("grass and a zorblax")
    page.get_by_role("button", name="Look", exact=True).click()
    expect(page.locator("#why-title")).to_have_text("Why")
    page.locator("#words .word", has_text="grass").wait_for()
    expect(page.locator("#words .unknown")).to_have_text("zorblax")


def test_more_like_a_photo(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cup+of+coffee+on+a+table")
    first(page, "coffee.jpg")
    open_photo(page, "coffee.jpg")
    page.get_by_role("button", name="More like this").click()
    expect(page.locator("#title")).to_have_text("Like this photo")
    expect(tiles(page)).to_have_count(7)
    page.get_by_role("button", name="Clear", exact=True).first.click()
    expect(tiles(page)).to_have_count(8)


def test_a_region_is_found_elsewhere_by_a_word_and_by_dragging(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+man+with+a+camera")
    first(page, "photographer.jpg")
    open_photo(page, "photographer.jpg")
    elsewhere = page.get_by_role("button", name="Find this region elsewhere")
    expect(elsewhere).to_be_disabled()
    place = page.locator("#figure").bounding_box()
    page.mouse.move(place["x"] + 0.2 * place["width"], place["y"] + 0.2 * place["height"])
    page.mouse.down()
    page.mouse.move(place["x"] + 0.6 * place["width"], place["y"] + 0.7 * place["height"])
    page.mouse.up()
    expect(elsewhere).to_be_enabled()
    page.locator("#words .word", has_text="camera").click()
    expect(elsewhere).to_be_enabled()
    elsewhere.click()
    expect(page.locator("#title")).to_have_text("Like this region")
    expect(page).to_have_url(re.compile("box="))
    expect(tiles(page)).to_have_count(7)


def test_a_photo_of_ones_own_finds_its_likes(visit: Callable[..., Any]) -> None:
    page = visit()
    page.locator("#upload").set_input_files(SAMPLES / "coffee.jpg")
    expect(page.locator("#title")).to_have_text("Like your photo")
    first(page, "coffee.jpg")


def test_photos_that_come_in_while_the_page_is_open_appear(visit: Callable[..., Any], folder: Path) -> None:
    page = visit()
    expect(tiles(page)).to_have_count(8)
    with Image.open(SAMPLES / "astronaut.jpg") as image:
        image.crop((100, 0, 400, 300)).save(folder / "portrait.jpg")
    try:
        page.locator("#show-library").click()
        page.get_by_role("button", name="Look for new photos").click()
        page.wait_for_selector('#grid a.tile[aria-label^="portrait.jpg"]', state="attached")
        expect(page.locator("#count")).to_have_text("9 photos")
    finally:
        (folder / "portrait.jpg").unlink()
        page.get_by_role("button", name="Look for new photos").click()
        expect(page.locator("#count")).to_have_text("8 photos")


def test_more_photos_come_as_one_scrolls(visit: Callable[..., Any]) -> None:
    page = visit("?q=zorblax")
    page.route("**/api/photos?**", lambda route: route.continue_(url=f"{route.request.url}&limit=3"))
    page.get_by_role("link", name="seesay, latest photos").click()
    expect(tiles(page)).to_have_count(8)
    expect(page.locator("#more")).to_be_hidden()
    assert len({tile.get_attribute("href") for tile in tiles(page).all()}) == 8


def test_what_is_unlikely_is_told_from_what_is_likely(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cup+of+coffee+on+a+table")
    first(page, "coffee.jpg")
    expect(page.locator("#grid .divider")).to_have_text("Less likely")
    page.goto(page.url + "&sort=date")
    expect(tiles(page)).to_have_count(8)
    expect(page.locator("#grid .divider")).to_have_count(0)


def test_a_server_that_is_gone_is_said(visit: Callable[..., Any]) -> None:
    page = visit()
    expect(tiles(page)).to_have_count(8)
    page.route("**/api/search**", lambda route: route.abort())
    page.get_by_role("searchbox").fill("a cat")
    page.get_by_role("heading", name="That did not work").wait_for()
    page.unroute("**/api/search**")
    page.get_by_role("button", name="Try again").click()
    first(page, "cat.jpg")


@pytest.mark.parametrize("width", [360, 390, 768])
def test_a_phone_needs_no_sideways_scrolling(visit: Callable[..., Any], width: int) -> None:
    page = visit("?q=a+man+with+a+camera", viewport={"width": width, "height": 780})
    first(page, "photographer.jpg")
    wide = "document.documentElement.scrollWidth <= innerWidth"
    assert page.evaluate(wide)
    page.get_by_role("button", name="Filters").click()
    assert page.evaluate(wide)
    open_photo(page, "photographer.jpg")
    for element in ("#figure", "#close", "#similar", "#sentence"):
        place = page.locator(element).bounding_box()
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= width


def test_the_page_is_dark_or_light_as_the_system_and_as_one_chooses(visit: Callable[..., Any]) -> None:
    page = visit(color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(colour)
    assert dark != light
    page.locator("#show-library").click()
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(colour) == dark
    page.reload()
    assert page.evaluate(colour) == dark


def test_everything_that_can_be_used_has_a_name(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+man+with+a+camera")
    open_photo(page, "photographer.jpg")
    page.locator("#words .word").first.wait_for()
    nameless = page.locator("a, button, input, select").evaluate_all(
        """all => all.filter((each) => !each.hidden && !each.ariaLabel && !each.textContent.trim())
             .filter((each) => !each.labels?.length).map((each) => each.outerHTML)"""
    )
    assert nameless == []


def test_everything_can_be_reached_by_keyboard(visit: Callable[..., Any]) -> None:
    page = visit()
    expect(tiles(page)).to_have_count(8)
    page.keyboard.press("/")
    page.keyboard.type("a cat")
    first(page, "cat.jpg")
    tiles(page).first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open]")
    page.locator("#words .word").first.wait_for()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('word')"):
            break
    expect_heat(page, lit=True)


def test_closing_a_photo_leaves_nothing_to_go_back_to(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat")
    page.get_by_role("searchbox").fill("a close up of a cat")
    page.keyboard.press("Enter")
    first(page, "cat.jpg")
    open_photo(page, "cat.jpg")
    expect(page.locator("#facts dt").first).to_have_text("Taken")
    page.keyboard.press("Escape")
    expect(page.locator("#viewer")).not_to_be_visible()
    expect(page).not_to_have_url(re.compile("photo="))
    page.go_back()
    expect(page.locator("#viewer")).not_to_be_visible()
    expect(page.get_by_role("searchbox")).to_have_value("a cat")


def test_another_sentence_gets_a_verdict_of_its_own_and_a_key_shows_the_reason(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+close+up+of+a+cat")
    first(page, "cat.jpg")
    open_photo(page, "cat.jpg")
    expect(page.locator("#words .word").first).to_be_visible()
    before = page.locator("#verdict").inner_text()
    assert "%" in before
    page.locator("#words .word").last.focus()
    page.keyboard.press("1")
    expect(page.locator("#words .word").first).to_have_attribute("aria-pressed", "true")
    page.locator("#sentence").fill("a rokcet with a zzyzx")
    page.keyboard.press("Enter")
    expect(page.locator("#word-note")).to_contain_text("“rokcet” is read as “rocket”")
    expect(page.locator("#word-note")).to_contain_text("never learned “zzyzx”")
    expect(page.locator("#verdict")).to_contain_text("unlikely")
    expect(page.locator("#picture")).not_to_have_attribute("alt", re.compile("^Photo"))  # but a caption


def test_the_verdict_of_the_search_is_there_while_the_reason_is_looked_for(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat")
    first(page, "cat.jpg")
    asked: list[Any] = []
    page.route("**/explain**", lambda route: asked.append(route))  # and no answer yet
    label = tiles(page).first.get_attribute("aria-label")
    open_photo(page, "cat.jpg")
    expect(page.locator("#word-note")).to_have_text("Looking …")
    assert page.locator("#verdict").inner_text() in label
    asked[0].continue_()
    expect(page.locator("#words .word").first).to_be_visible()


def test_on_a_phone_one_is_told_to_tap_a_word(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+cat", viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    first(page, "cat.jpg")
    open_photo(page, "cat.jpg")
    expect(page.locator("#word-note")).to_have_text("Tap a word to see what it refers to.")
    page.locator("#words .word").first.tap()
    expect(page.locator("#box")).to_be_visible()


def test_what_was_understood_is_told_and_can_be_undone(visit: Callable[..., Any]) -> None:
    page = visit("?q=a+caat+without+coffee")
    first(page, "cat.jpg")
    expect(page.locator("#note")).to_contain_text("Without: coffee")
    expect(page.locator("#note")).to_contain_text("“caat” is read as “cat”")
    page.get_by_role("button", name="Search for it as typed").click()
    expect(page).to_have_url(re.compile("exact=true"))
    expect(page.locator("#note")).to_contain_text("Did you mean “cat” instead of “caat”?")
    page.get_by_role("searchbox").fill("the zzyzx")
    expect(page.locator("#message")).to_have_text("No photo fitsTry other words.")
    expect(page.locator("#note")).to_contain_text("never learned “zzyzx”")
    expect(page).not_to_have_url(re.compile("exact"))


def test_one_can_type_at_once_or_choose_an_example(visit: Callable[..., Any]) -> None:
    page = visit()
    expect(page.get_by_role("searchbox")).to_be_focused()
    example = page.locator("#examples button").first
    text = example.inner_text()
    example.click()
    expect(page.get_by_role("searchbox")).to_have_value(text)
    expect(page.locator("#examples")).not_to_be_visible()


def test_a_mistyped_address_leads_back_to_the_photos(visit: Callable[..., Any]) -> None:
    page = visit("nowhere")
    expect(page.locator("h1")).to_have_text("There is nothing at this address")
    assert page.locator("link[rel=icon]").get_attribute("href") == "/static/icon.svg"
    page.get_by_role("link", name="To the photos").click()
    expect(tiles(page).first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_somebody_out(visit: Callable[..., Any], scheme: str) -> None:
    page = visit("?q=a+cat+without+coffee", bypass_csp=True, color_scheme=scheme)
    first(page, "cat.jpg")
    page.add_script_tag(path=Path(__file__).with_name("axe.min.js"))

    def violations() -> list[str]:
        found = page.evaluate("async () => (await axe.run()).violations")
        return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]

    assert violations() == []
    open_photo(page, "cat.jpg")
    expect(page.locator("#words .word").first).to_be_visible()
    assert violations() == []
