"""Make the pictures of docs/how-to/web-page.md: the sample photos of seesay among test photos of Flickr8K.

    pip install playwright && SEESAY_DATA=DIR python tools/docs/make_screenshots.py

It needs a Chromium on the PATH. Photos of Flickr8K are shown small, as in the figures of a paper; they belong to their
owners on Flickr.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, sync_playwright

import seesay
from seesay.library.library import Library
from seesay.web.access import Access
from seesay.web.server import running

PICTURES = Path(__file__).parents[2] / "docs/pictures"
SAMPLES = Path(seesay.__file__).parent / "samples"
N_FLICKR8K = 240
DESK = {"width": 1200, "height": 760}
PHONE = {"width": 390, "height": 780}
MANY = "?q=dogs+playing+in+the+snow"
ONE = "?q=a+man+with+a+camera+on+a+tripod"
WAIT = 120_000


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium on the PATH")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        photos = Path(folder) / "photos"
        shutil.copytree(SAMPLES, photos)
        for item in seesay.load_data("flickr8k").split("test").items[:N_FLICKR8K]:
            if item.image is not None:
                shutil.copy(item.image, photos)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with Library(Path(folder) / "library") as library:
            library.index(photos)
            with running(library, Access.for_host("127.0.0.1")) as address:
                shoot(browser, address + MANY, "web-search", color_scheme="light")
                shoot(browser, address + "?q=a+white+dog&look=parts", "web-parts", color_scheme="light")
                shoot(browser, address + "?q=a+child+in+the+water", "web-dark", color_scheme="dark")
                shoot(browser, address + ONE, "web-why", word="tripod", color_scheme="light")
                shoot(browser, address + MANY, "web-phone", viewport=PHONE, color_scheme="light")
                shoot(browser, address + ONE, "web-phone-why", word="camera", viewport=PHONE, color_scheme="dark")
        browser.close()


def shoot(browser: Browser, address: str, name: str, *, word: str = "", **options: Any) -> None:
    """Open an address, where a word is given light it up in the first photo, and take a picture."""
    context = browser.new_context(**{"viewport": DESK, **options})
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.goto(address)
    page.wait_for_selector("#grid a.tile")
    page.locator("#show-library:not(.busy)").wait_for()
    if word:
        page.locator("#grid a.tile").first.click()
        page.locator('#figure[aria-busy="false"]').wait_for()
        page.locator("#captions:not([hidden])").wait_for()
        page.locator("#words .word", has_text=word).hover()
        page.wait_for_selector("#box:not([hidden])")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"{name}.jpg", quality=82)
    context.close()


if __name__ == "__main__":
    main()
