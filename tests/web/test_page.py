"""The page brings everything that it needs, and nothing that its content-security policy forbids."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from seesay.web.page import STATIC, read_files

HTML = (STATIC / "index.html").read_text(encoding="utf-8")
SCRIPTS = sorted(STATIC.glob("*.js"))


class Reader(HTMLParser):
    """The tags of a page with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style"):
            self.inline += data.strip()


TAGS = Reader(HTML).tags


def test_every_file_is_served_with_its_type_and_again_only_when_it_changes(browser: Any) -> None:
    for name, file in read_files().items():
        answer = browser.get("/" if name == "index.html" else f"/static/{name}")
        assert (answer.status, answer.body) == (200, (STATIC / name).read_bytes())
        assert answer.headers["content-type"] == file.kind
        assert browser.get(f"/static/{name}", if_none_match=answer.headers["etag"]).status == 304


def test_nothing_in_the_page_is_inline() -> None:
    assert Reader(HTML).inline == ""
    for tag, attributes in TAGS:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag


def test_everything_that_the_page_loads_is_its_own() -> None:
    loaded = [
        attributes.get("src") or attributes.get("href") for tag, attributes in TAGS if tag in ("script", "link", "img")
    ]
    for address in filter(None, loaded):
        assert address.startswith("/static/")
        assert (STATIC / address.removeprefix("/static/")).is_file()


@pytest.mark.parametrize("path", [*SCRIPTS, STATIC / "style.css"], ids=lambda path: path.name)
def test_no_file_names_another_site(path: Path) -> None:
    assert re.findall(r"(?:https?:)?//[a-z][\w.-]*\.[a-z]{2,}|@import|url\(", path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_never_make_markup_of_text(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"style\""
    assert re.findall(forbidden, code) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_takes_from_another_is_there(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    for names, source in re.findall(r"import (\{[^}]+\}|\* as \w+) from \"\./([\w.]+)\"", code):
        exported = set(re.findall(r"export (?:async )?(?:function|const|class) (\w+)", (STATIC / source).read_text()))
        wanted = (
            set(re.findall(r"\w+", names))
            if names.startswith("{")
            else set(re.findall(rf"\b{names.split()[-1]}\.(\w+)\(", code))
        )
        assert wanted
        assert wanted <= exported


def test_scripts_ask_for_elements_that_the_page_has() -> None:
    ids = [attributes["id"] for _, attributes in TAGS if "id" in attributes]
    assert len(ids) == len(set(ids))
    asked = {name for path in SCRIPTS for name in re.findall(r"\$\(\"([\w-]+)\"\)", path.read_text())}
    assert asked
    assert asked <= set(ids)


def test_the_page_can_be_read_aloud() -> None:
    ids = {attributes["id"] for _, attributes in TAGS if "id" in attributes}
    labelled = {attributes.get("for") for tag, attributes in TAGS if tag == "label"}
    assert ("html", {"lang": "en"}) in TAGS
    for tag, attributes in TAGS:
        if tag == "dialog":
            assert attributes["aria-labelledby"] in ids
        if tag == "input" and attributes.get("id"):
            assert attributes["id"] in labelled or attributes.get("aria-label")
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true"
        if tag == "img":
            assert "alt" in attributes


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to read JavaScript")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_javascript(path: Path) -> None:
    with path.open() as file:
        checked = subprocess.run(["node", "--check", "--input-type=module"], stdin=file, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
