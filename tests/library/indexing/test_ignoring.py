"""Patterns of what is left out."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from seesay.errors import SeesayError
from seesay.library.indexing.ignoring import (
    is_left_out,
    pattern_for,
    read_ignore_file,
    read_patterns,
    rebase_pattern,
)

BASE = Path("/photos")


def leaves_out(lines: list[str], name: str, *, is_folder: bool = False, base: Path = BASE) -> bool:
    return is_left_out(f"{base}/{name}".replace("//", "/"), [read_patterns(lines, base)], is_folder=is_folder)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.tif", ["a.tif", "2019/a.tif", "x/y/a.tif"], ["a.tiff", "a.jpg"]),
        ("thumbs", ["thumbs", "2019/thumbs"], ["thumbs2"]),
        ("/thumbs", ["thumbs"], ["2019/thumbs"]),
        ("2019/raw", ["2019/raw"], ["x/2019/raw"]),
        ("2019/*.png", ["2019/a.png"], ["2019/x/a.png", "a.png"]),
        ("drafts/**/*.png", ["drafts/a.png", "drafts/x/y/a.png"], ["a.png"]),
        ("**/raw", ["raw", "2019/x/raw"], ["2019/raws"]),
        ("**/a/**/b/**/*c*d*.jpg", ["a/b/cd.jpg", "x/a/y/z/b/a/1c2d3.jpg"], ["a/c.jpg", "b/a/cd.jpg"]),
        ("/2019/**", ["2019/a.png", "2019/x/a.png"], ["2019"]),
        ("IMG_?.jpg", ["IMG_1.jpg"], ["IMG_12.jpg"]),
        ("IMG_[0-3].jpg", ["IMG_2.jpg"], ["IMG_7.jpg"]),
        ("IMG_[!0-3].jpg", ["IMG_7.jpg"], ["IMG_2.jpg"]),
        ("100%_a[[]1]", ["100%_a[1]"], ["100%_a1"]),
        ("a+b(1).jpg", ["a+b(1).jpg"], ["aab1.jpg"]),
        (r"\!x", ["!x"], ["x"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [leaves_out([pattern], name) for name in (*yes, *no)] == [True] * len(yes) + [False] * len(no)


def test_a_pattern_with_a_slash_at_its_end_matches_folders_alone() -> None:
    assert leaves_out(["raw/"], "x/raw", is_folder=True)
    assert not leaves_out(["raw/"], "x/raw")


def test_a_negated_pattern_brings_back_what_an_earlier_one_left_out() -> None:
    lines = ["*.tif", "!cover.tif"]
    assert [leaves_out(lines, name) for name in ("a.tif", "cover.tif", "2019/cover.tif", "a.jpg")] == [
        *(True, False, False, False)
    ]
    assert leaves_out([*reversed(lines)], "cover.tif")  # the last one that matches decides


def test_the_patterns_of_a_deeper_folder_overrule_those_above_it() -> None:
    patterns = [read_patterns(["*.tif"], BASE), read_patterns(["!*.tif", "b.tif"], BASE / "2019")]
    assert [
        is_left_out(f"/photos/{name}", patterns, is_folder=False) for name in ("2019/a.tif", "2019/b.tif")
    ] == [False, True]  # fmt: skip
    assert is_left_out("/photos/a.tif", patterns[:1], is_folder=False)


def test_names_may_hold_line_breaks() -> None:
    assert leaves_out(["*.jpg"], "new\nline.jpg", base=Path("/"))
    assert leaves_out(["*.jpg"], "new\nfolder/a.jpg")
    assert leaves_out(["/drafts/**/*.png"], "drafts/new\nfolder/x/a.png")


@pytest.mark.parametrize("name", ["plain", "100%_a [1]*?", "[", "a]b", "!x", "#x", " spaces ", "back\\slash", "a\nb"])
def test_the_pattern_for_a_folder_leaves_out_that_one_alone(name: str) -> None:
    lines = [pattern_for(BASE / name, BASE)]
    assert leaves_out(lines, name, is_folder=True)
    assert not leaves_out(lines, f"x/{name}", is_folder=True)
    assert not leaves_out(lines, "other", is_folder=True)


@pytest.mark.parametrize("pattern", ["*.tif", "!cover.tif", "/drafts/", "raw/*.tif", r"\#x", "[ab].jpg"])
@pytest.mark.parametrize("name", ["a.tif", "drafts/", "x/drafts/", "raw/a.tif", "x/raw/a.tif", "#x", "a.jpg"])
def test_a_pattern_means_the_same_from_a_folder_above(pattern: str, name: str) -> None:
    inner = BASE / "20[1]9"
    own, outer = read_patterns([pattern], inner), read_patterns([rebase_pattern(pattern, inner, BASE)], BASE)
    path, is_folder = f"{inner}/{name.rstrip('/')}", name.endswith("/")
    assert own.verdict(path, is_folder=is_folder) == outer.verdict(path, is_folder=is_folder)


def test_an_ignore_file_has_a_pattern_a_line(tmp_path: Path) -> None:
    (tmp_path / ".seesayignore").write_bytes(b"# my scans\n\n  *.tif  \r\n!cover.tif\r\n/raw/\ncaf\xe9\n")
    patterns = [read_ignore_file(str(tmp_path))]
    names = ("a.tif", "cover.tif", "raw", "caf\udce9")
    assert [is_left_out(f"{tmp_path}/{name}", patterns, is_folder=False) for name in names] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("line", ["[z-a].jpg", "a[.jpg", "!", "/", "a\\"])
def test_what_cannot_be_a_pattern_is_refused_with_its_file(tmp_path: Path, line: str) -> None:
    (tmp_path / ".seesayignore").write_text(line)
    with pytest.raises(SeesayError, match=rf"\.seesayignore: {re.escape(repr(line))} is no pattern"):
        read_ignore_file(str(tmp_path))


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("*a" * 20 + "*b", "a" * 255), ("**/a/" * 12 + "b", "a/" * 500), ("a*" * 20, "a" * 250 + "/c")],
)
def test_no_pattern_takes_for_ever(pattern: str, name: str) -> None:
    start = time.perf_counter()
    assert leaves_out([pattern], name) == name.endswith("/c")
    assert time.perf_counter() - start < 2


@given(
    pattern=st.lists(st.sampled_from(["a", "b", "*", "?", "/", "**/", "[ab]"]), min_size=1, max_size=9).map("".join),
    path=st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=5).map("/".join),
)
def test_patterns_match_as_those_of_git_do(pattern: str, path: str) -> None:
    try:
        patterns = read_patterns([pattern], BASE)
    except SeesayError:
        return
    expected = GitIgnoreSpec.from_lines([pattern]).check_file(path).include
    assert patterns.verdict(f"/photos/{path}", is_folder=False) == expected
