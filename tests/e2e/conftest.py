"""A real browser for the tests that look at pages, and the command line with its JSON read."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seesay.cli.main import run


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


@pytest.fixture
def open_file(chromium: Any) -> Iterator[Callable[[Path], Any]]:
    """Open a page from the disk; at the end nothing outside its folder was asked for and no script has failed."""
    contexts: list[Any] = []
    asked: list[tuple[str, str]] = []
    faults: list[str] = []

    def open_page(file: Path) -> Any:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("request", lambda request: asked.append((request.url, file.parent.as_uri())))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [url for url, folder in asked if not url.startswith((folder, "data:"))] == []
    assert faults == []


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Call the command line, and read the JSON that it prints."""

    def call(*arguments: object) -> Any:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert not end.value.code, err
        return json.loads(out)

    return call
