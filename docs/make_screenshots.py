"""Make the pictures of the page in docs/web.md, with the sample photos that seesay carries.

    pip install playwright && python docs/make_screenshots.py

It needs a Chromium on the PATH.
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

PICTURES = Path(__file__).parent / "pictures"
SAMPLES = Path(seesay.__file__).parent / "samples"
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
QUERY = "?q=a+man+with+a+camera+on+a+tripod"
WAIT = 120_000


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium on the PATH")
    with TemporaryDirectory() as folder, Library(folder, model="vse") as library, sync_playwright() as playwright:
        library.index(SAMPLES)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with running(library, Access.for_host("127.0.0.1")) as address:
            shoot(browser, address + QUERY, "web-search", color_scheme="light")
            shoot(browser, address, "web-dark", color_scheme="dark")
            shoot(browser, address + QUERY, "web-why", word="tripod", color_scheme="light")
            shoot(browser, address + QUERY, "web-phone", viewport=PHONE, device_scale_factor=2)
            shoot(browser, address + QUERY, "web-phone-why", word="camera", viewport=PHONE, device_scale_factor=2)
        browser.close()


def shoot(browser: Browser, address: str, name: str, *, word: str = "", **options: Any) -> None:
    """Open an address, where a word is given light it up in the first photo, and take a picture."""
    context = browser.new_context(**{"viewport": DESK, **options})
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.goto(address)
    page.wait_for_selector("#grid a.tile")
    if word:
        page.locator("#grid a.tile").first.click()
        page.wait_for_function("document.getElementById('picture').naturalWidth > 0")
        page.locator("#captions:not([hidden]), #words .word").first.wait_for()
        page.locator("#words .word", has_text=word).hover()
        page.wait_for_selector("#box:not([hidden])")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"{name}.png")
    context.close()


if __name__ == "__main__":
    main()
