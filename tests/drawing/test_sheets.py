"""Sheets of photos: what stands where, and that no text is lost or runs over."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from seesay.drawing import sheets
from seesay.drawing.sheets import ACCENT, INK, PALE, PAPER, TILE, Cell, draw_sheet, save_picture, wrap
from seesay.errors import SeesayError

RED, BLUE = (200, 30, 30), (30, 30, 200)


def photo(colour: tuple[int, int, int], width: int = 80, height: int = 60) -> Image.Image:
    return Image.new("RGB", (width, height), colour)


def where(sheet: Image.Image, colour: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of everything in a colour."""
    rows, columns = np.nonzero((np.asarray(sheet) == colour).all(2))
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def drawn(sheet: Image.Image) -> tuple[int, int, int, int]:
    """The same of everything that is not paper."""
    rows, columns = np.nonzero((np.asarray(sheet) != PAPER).any(2))
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def test_photos_fill_rows_from_left_to_right() -> None:
    sheet = draw_sheet([Cell(photo(RED)), Cell(photo(BLUE)), Cell(photo(RED))], columns=2, width=120)
    left, top, right, bottom = where(sheet, BLUE)
    assert (right - left, bottom - top) == (120, 90)
    red_left, red_top, red_right, red_bottom = where(sheet, RED)
    assert (red_left, red_top) == (13, 13)
    assert red_right < left
    assert red_bottom > bottom
    assert right == sheet.width - 13


def test_margins_are_the_same_on_all_sides() -> None:
    sheet = draw_sheet([Cell(photo(RED))] * 6, columns=3, width=100)
    left, top, right, bottom = drawn(sheet)
    assert (left, top, sheet.width - right, sheet.height - bottom) == (12, 12, 12, 12)


def test_fewer_photos_than_columns_leave_no_empty_columns() -> None:
    assert draw_sheet([Cell(photo(RED))] * 2, columns=5).width == draw_sheet([Cell(photo(RED))] * 2, columns=2).width


def test_text_stands_under_its_photo_and_within_its_width() -> None:
    words = "a brown dog with a very long caption jumps over a fence into the high grass"
    sheet = draw_sheet([Cell(photo(RED), words), Cell(photo(BLUE))], columns=2, width=120)
    ink = where(sheet, INK)
    left, _, right, bottom = where(sheet, RED)
    assert left <= ink[0]
    assert ink[2] <= right
    assert ink[1] > bottom


def test_text_beside_a_photo_begins_at_its_top() -> None:
    sheet = draw_sheet([Cell(photo(RED), "one\ntwo\nthree")], columns=1, width=120, text_width=200)
    ink, (_, top, right, bottom) = where(sheet, INK), where(sheet, RED)
    assert ink[0] > right
    assert ink[2] <= right + 9 + 200
    assert top <= ink[1] < ink[3] < bottom
    assert sheet.height == 90 + 2 * 13


def test_a_row_is_as_high_as_its_longest_text() -> None:
    short, long = Cell(photo(RED), "a dog"), Cell(photo(BLUE), "one\ntwo\nthree\nfour")
    low, high = draw_sheet([short, short], columns=2), draw_sheet([short, long], columns=2)
    assert high.height > low.height
    assert where(high, RED)[:2] == where(low, RED)[:2]


def test_notes_are_pale_and_below_the_text() -> None:
    sheet = draw_sheet([Cell(photo(RED), "a dog", note="0.87")], columns=1, width=480)  # letters thick enough to find
    assert where(sheet, PALE)[1] >= where(sheet, INK)[3]
    assert drawn(sheet)[3] < sheet.height - 10


def test_a_tall_photo_is_shown_whole_on_a_tile_unless_it_is_cropped() -> None:
    tall = photo(RED, 40, 80)
    left, top, right, bottom = where(draw_sheet([Cell(tall)], columns=1, width=120), RED)
    assert (right - left, bottom - top) == (45, 90)
    whole = draw_sheet([Cell(tall)], columns=1, width=120)
    assert whole.getpixel((20, 60)) == TILE
    cropped = draw_sheet([Cell(tall)], columns=1, width=120, crop=True)
    left, top, right, bottom = where(cropped, RED)
    assert (right - left, bottom - top) == (120, 90)


def test_a_photo_of_almost_the_same_shape_fills_its_place() -> None:
    left, top, right, bottom = where(draw_sheet([Cell(photo(RED, 90, 60))], columns=1, width=120), RED)
    assert (right - left, bottom - top) == (120, 90)


def test_corners_are_round() -> None:
    sheet = draw_sheet([Cell(photo(RED))], columns=1, width=120)
    assert sheet.getpixel((13, 13)) == PAPER
    assert sheet.getpixel((13 + 4, 13 + 4)) == RED


def test_the_accented_photo_has_a_frame() -> None:
    sheet = draw_sheet([Cell(photo(RED), accented=True), Cell(photo(BLUE))], columns=2, width=120)
    left, top, right, bottom = where(sheet, ACCENT)
    assert (right - left, bottom - top) == (120, 90)
    assert sheet.getpixel((13 + 60, 13 + 45)) == RED


def test_an_empty_cell_keeps_its_place() -> None:
    sheet = draw_sheet([Cell(), Cell(photo(RED))], columns=2, width=120)
    assert where(sheet, RED)[0] == 13 + 120 + 9


def test_title_and_row_labels_stand_outside_the_grid() -> None:
    sheet = draw_sheet(
        [Cell(photo(RED)), Cell(photo(RED))], columns=1, title="Neighbours", row_labels=["refined", "original"]
    )
    photos = where(sheet, RED)
    title, labels = where(sheet, INK), where(sheet, PALE)
    assert title[3] < photos[1]
    assert labels[2] < photos[0]
    assert photos[1] < labels[1] < labels[3] < photos[3]


def test_photos_are_opened_like_everywhere_else(tmp_path: Path) -> None:
    turned = photo(RED, 60, 80)
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    turned.save(tmp_path / "turned.png", exif=exif)
    left, top, right, bottom = where(draw_sheet([Cell(tmp_path / "turned.png")], columns=1, width=120), RED)
    assert (right - left, bottom - top) == (120, 90)
    with pytest.raises(SeesayError, match=r"cannot open .*absent\.jpg"):
        draw_sheet([Cell(tmp_path / "absent.jpg")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": 0}, "0 columns"),
        ({"width": 10}, "10 wide"),
        ({"shape": 0.0}, "0 times as high"),
        ({"n_lines": 0}, "0 lines"),
        ({"row_labels": ["a", "b"]}, "2 row labels for 1 rows"),
    ],
)
def test_impossible_sheets_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        draw_sheet([Cell(photo(RED))], **options)  # type: ignore[arg-type]
    with pytest.raises(SeesayError, match="nothing to draw"):
        draw_sheet([])


words = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=40)


@given(st.lists(words, max_size=30), st.integers(30, 300), st.integers(1, 6))
def test_every_line_fits_and_words_are_lost_only_behind_dots(text: list[str], width: int, n_lines: int) -> None:
    font = sheets._font(14)
    lines = wrap(" ".join(text), font, width, n_lines)
    assert len(lines) <= n_lines
    assert all(font.getlength(line) <= width or len(line) == 1 for line in lines)
    whole = "".join(" ".join(text).split())
    kept = "".join("".join(lines).split())
    assert kept == whole or (kept.endswith("…") and whole.startswith(kept[:-1]))


def test_line_breaks_are_kept() -> None:
    assert wrap("1. a dog\n2. a cat", sheets._font(14), 300, 5) == ["1. a dog", "2. a cat"]
    assert wrap("", sheets._font(14), 300, 5) == []


def test_letters_are_not_clipped_at_their_feet() -> None:
    sheet = draw_sheet([Cell(photo(RED), "gypqj")], columns=1, width=200)
    bottom = where(sheet, INK)[3]
    pen = ImageDraw.Draw(photo(PAPER))
    feet = pen.textbbox((0, 0), "gypqj", font=sheets._font(13), anchor="lm")
    assert bottom - where(sheet, INK)[1] >= feet[3] - feet[1] - 2
    assert sheet.height - bottom > 10


@pytest.mark.parametrize(("name", "kind"), [("a.png", "PNG"), ("b.JPG", "JPEG"), ("c.webp", "WEBP")])
def test_a_sheet_is_saved_in_the_format_of_its_name(tmp_path: Path, name: str, kind: str) -> None:
    save_picture(photo(RED), tmp_path / "new" / name)
    with Image.open(tmp_path / "new" / name) as saved:
        assert (saved.format, saved.size) == (kind, (80, 60))


def test_an_unknown_format_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"\.bmp suffix\n  allowed: \.png, \.jpg"):
        save_picture(photo(RED), tmp_path / "sheet.bmp")
