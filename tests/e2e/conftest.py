"""A real browser for the tests that look at pages."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest


def _skip(reason: str) -> None:
    if os.environ.get("SEESAY_EXPECT_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A Chromium that is driven through Playwright."""
    path = shutil.which("chromium")
    if path is None:
        _skip("needs a browser: there is no chromium on the PATH")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _skip("needs the package playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
