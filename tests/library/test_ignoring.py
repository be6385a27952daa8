"""Patterns of what is left out."""

from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.library.indexing.ignoring import pattern_for, read_ignore_file, read_patterns

BASE = Path("/photos")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.tif", ["a.tif", "2019/a.tif", "x/y/a.tif"], ["a.tiff", "a.tif/b.jpg"]),
        ("thumbs", ["thumbs", "2019/thumbs"], ["thumbs2", "thumbs/a.jpg"]),
        ("/thumbs", ["thumbs"], ["2019/thumbs"]),
        ("2019/raw", ["2019/raw"], ["x/2019/raw"]),
        ("2019/*.png", ["2019/a.png"], ["2019/x/a.png", "a.png"]),
        ("drafts/**/*.png", ["drafts/a.png", "drafts/x/y/a.png"], ["a.png"]),
        ("**/raw", ["raw", "2019/x/raw"], ["2019/raws"]),
        ("/2019/**", ["2019/a.png", "2019/x/a.png"], ["2019"]),
        ("IMG_?.jpg", ["IMG_1.jpg"], ["IMG_12.jpg"]),
        ("IMG_[0-3].jpg", ["IMG_2.jpg"], ["IMG_7.jpg"]),
        ("IMG_[!0-3].jpg", ["IMG_7.jpg"], ["IMG_2.jpg"]),
        ("100%_a[[]1]", ["100%_a[1]"], ["100%_a1"]),
        ("a+b(1).jpg", ["a+b(1).jpg"], ["aab1.jpg"]),
        ("a[.jpg", ["a[.jpg"], ["a.jpg"]),
    ],
)
def test_what_a_pattern_speaks_of(pattern: str, yes: list[str], no: list[str]) -> None:
    (compiled,) = read_patterns([pattern], BASE)
    assert [compiled.matches(f"/photos/{path}", is_folder=False) for path in (*yes, *no)] == [True] * len(yes) + [
        False
    ] * len(no)


def test_a_pattern_with_a_slash_at_its_end_speaks_of_folders_alone() -> None:
    (pattern,) = read_patterns(["raw/"], BASE)
    assert pattern.matches("/photos/x/raw", is_folder=True)
    assert not pattern.matches("/photos/x/raw", is_folder=False)


def test_names_may_hold_line_breaks() -> None:
    (pattern,) = read_patterns(["*.jpg"], Path("/"))
    assert pattern.matches("/new\nline.jpg", is_folder=False)


@pytest.mark.parametrize("name", ["plain", "100%_a [1]*?", "[", "a]b", "!x", "#x", " spaces "])
def test_the_pattern_for_a_folder_leaves_out_that_one_alone(name: str) -> None:
    (pattern,) = read_patterns([pattern_for(BASE / name, BASE)], BASE)
    assert pattern.matches(f"/photos/{name}", is_folder=True)
    assert not pattern.matches(f"/photos/x/{name}", is_folder=True)
    assert not pattern.matches("/photos/other", is_folder=True)


def test_an_ignore_file_has_a_pattern_a_line(tmp_path: Path) -> None:
    (tmp_path / ".seesayignore").write_bytes(b"# my scans\n\n  *.tif  \r\n/raw/\ncaf\xe9\n")
    patterns = read_ignore_file(str(tmp_path))
    assert [pattern.folders_only for pattern in patterns] == [False, True, False]
    assert patterns[0].matches(f"{tmp_path}/a.tif", is_folder=False)
    assert patterns[2].matches(f"{tmp_path}/caf\udce9", is_folder=False)


@pytest.mark.parametrize(("line", "message"), [("!keep.jpg", "wants to take back"), ("[z-a].jpg", "is no pattern")])
def test_what_cannot_be_a_pattern_is_refused_with_its_file(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / ".seesayignore").write_text(line)
    with pytest.raises(SeesayError, match=rf"\.seesayignore: .*{message}"):
        read_ignore_file(str(tmp_path))
