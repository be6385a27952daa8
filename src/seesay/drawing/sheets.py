"""Sheets of photos with words: captions under photos, neighbours in rows, hypotheses beside a photo.

A sheet is a grid of equally wide cells on white paper. Photos keep their shape on a pale tile, which a photo of almost
the same shape fills; text is wrapped to the cell and ends with dots where it has too many lines, so that none is ever
cut off or runs into its neighbour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import ExifTags, Image, ImageDraw, ImageFont, ImageOps

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.system import ranges
from seesay.system.files import replace_atomically
from seesay.system.results import MARK, check_result

Colour = tuple[int, int, int]

PAPER: Colour = (255, 255, 255)
TILE: Colour = (241, 243, 246)
INK: Colour = (28, 32, 38)
PALE: Colour = (112, 120, 131)
ACCENT: Colour = (31, 111, 159)

FILE_TYPES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}

_LEADING = 1.34  # from line to line, in letter sizes
_ALMOST = 1.15  # 3:2 counts as 4:3
_SMOOTH = 4  # round corners are drawn larger and then shrunk


@dataclass(frozen=True, slots=True)
class Cell:
    """A photo and what is written with it.

    Attributes:
        picture: Anything that `open_image` opens; None leaves the place of the photo empty.
        text: Dark, wrapped; a line break begins another line.
        note: Smaller and pale, one line below the text.
        accented: Draw a coloured frame around the photo, as for the one that the others are compared with.
    """

    picture: Path | str | bytes | Image.Image | None = None
    text: str = ""
    note: str = ""
    accented: bool = False


@dataclass(frozen=True, slots=True)
class _Style:
    """Every length of a sheet, in pixels, from the width of its photos."""

    width: int
    height: int
    text_width: int
    beside: bool
    n_lines: int

    @property
    def letters(self) -> int:
        return max(12, round(self.width / 15))

    @property
    def margin(self) -> int:
        return max(12, round(self.width / 9))

    @property
    def gap(self) -> int:
        return max(8, round(self.width / 13))

    @property
    def cell_width(self) -> int:
        return self.width + (self.gap + self.text_width if self.beside else 0)

    def lines_of(self, cell: Cell) -> tuple[list[str], list[str]]:
        width = self.text_width if self.beside else self.width
        text = wrap(cell.text, _font(self.letters), width, self.n_lines)
        return text, wrap(cell.note, _font(self.note_letters), width, 1)

    @property
    def note_letters(self) -> int:
        return max(11, round(0.82 * self.letters))

    def text_height(self, cell: Cell) -> int:
        text, note = self.lines_of(cell)
        return round(_LEADING * len(text) * self.letters + (_LEADING + 0.3) * len(note) * self.note_letters)

    def cell_height(self, cell: Cell) -> int:
        if self.beside:
            return max(self.height, self.text_height(cell))
        words = self.text_height(cell)
        return self.height + (round(0.55 * self.letters) + words if words else 0)


def draw_sheet(
    cells: Sequence[Cell],
    columns: int = 5,
    *,
    title: str = "",
    row_labels: Sequence[str] = (),
    width: int = 240,
    shape: float = 0.75,
    crop: bool = False,
    text_width: int = 0,
    n_lines: int = 4,
) -> Image.Image:
    """Draw photos in rows, with text under or beside each.

    Args:
        cells: From left to right and from top to bottom.
        columns: Cells in a row.
        title: A larger line above all.
        row_labels: What each row is, written at its left.
        width: Of a photo, in pixels; letters and gaps grow with it.
        shape: Height of a photo's place as a share of its width.
        crop: Fill that place with every photo, by cutting off what does not fit.
        text_width: Where it is given, the text stands in a column of this width beside the photo and not under it.
        n_lines: Lines of text that a cell may have.

    Raises:
        SeesayError: There are no cells, a number is impossible, or a photo cannot be opened.

    Example:
        >>> meadow, sea = Image.new("RGB", (60, 40), "green"), Image.new("RGB", (30, 60), "blue")
        >>> draw_sheet([Cell(meadow, "a meadow"), Cell(sea, "the sea")], columns=2, width=120).size
        (275, 139)
    """
    n_rows = -(-len(cells) // max(1, columns))
    if not cells:
        raise SeesayError("there is nothing to draw on a sheet", allowed="one cell or more")
    if columns < 1 or width < 40 or n_lines < 1 or text_width < 0 or not 0.1 <= shape <= 10:
        raise SeesayError(
            f"a sheet of {columns} columns, photos {width} wide and {shape:g} times as high, {n_lines} lines of text",
            allowed="1 column or more, 40 pixels or more, 0.1 to 10 times as high, 1 line or more",
        )
    if row_labels and len(row_labels) != n_rows:
        raise SeesayError(f"{len(row_labels)} row labels for {n_rows} rows", allowed="one label for each row, or none")
    style = _Style(width, round(width * shape), text_width, text_width > 0, n_lines)
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    heights = [max(style.cell_height(cell) for cell in row) for row in rows]
    label_width = round(0.62 * width) if any(row_labels) else 0
    left = style.margin + (label_width + style.gap if label_width else 0)
    n_wide = min(columns, len(cells))
    sheet_width = left + n_wide * style.cell_width + (n_wide - 1) * style.gap + style.margin
    heading = _font(round(1.45 * style.letters))
    headlines = wrap(title, heading, sheet_width - 2 * style.margin, 2)
    top = style.margin + round(len(headlines) * heading.size * _LEADING + (0.9 * style.letters if headlines else 0))
    sheet_height = top + sum(heights) + (n_rows - 1) * round(1.5 * style.gap) + style.margin
    sheet = Image.new("RGB", (sheet_width, sheet_height), PAPER)
    pen = ImageDraw.Draw(sheet)
    _write(pen, (style.margin, style.margin), headlines, heading, INK)
    for number, (row, height) in enumerate(zip(rows, heights, strict=True)):
        if label_width:
            letters = _font(style.letters)
            lines = wrap(row_labels[number], letters, label_width, 6)
            middle = top + style.height / 2 - len(lines) * style.letters * _LEADING / 2
            _write(pen, (style.margin, middle), lines, letters, PALE)
        for column, cell in enumerate(row):
            x = left + column * (style.cell_width + style.gap)
            _draw_cell(sheet, pen, cell, (x, top), style, crop)
        top += height + round(1.5 * style.gap)
    return sheet


def save_picture(picture: Image.Image, path: Path) -> None:
    """Write a picture in the format of its name, replacing an existing file in one step.

    Raises:
        SeesayError: The format is unknown, or the name is taken by something that is no file.
    """
    if path.suffix.lower() not in FILE_TYPES:
        raise SeesayError(f"cannot write {path}: {path.suffix or 'no'} suffix", allowed=FILE_TYPES)
    check_result(path, overwrite=True)
    about = Image.Exif()
    about[ExifTags.Base.Software] = MARK  # by which a later result knows that it may take the place of this one
    with replace_atomically(path) as temporary:
        picture.save(temporary, format=FILE_TYPES[path.suffix.lower()], quality=90, optimize=True, exif=about)


def wrap(text: str, font: ImageFont.FreeTypeFont, width: int, n_lines: int) -> list[str]:
    """Break text into lines that fit; the last of too many ends with dots, and a word that is too long is divided."""
    lines: list[str] = []
    for paragraph in text[: n_lines * ranges.DRAWN].splitlines()[: n_lines + 1]:  # nobody reads more of it
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if font.getlength(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            while font.getlength(word) > width and len(word) > 1:
                n_fit = max(1, sum(font.getlength(word[: n + 1]) <= width for n in range(len(word))))
                lines.append(word[:n_fit])
                word = word[n_fit:]
            line = word
        lines.append(line)
    if len(lines) <= n_lines:
        return lines
    last = lines[n_lines - 1]
    while last and font.getlength(f"{last}…") > width:
        last = last[:-1]
    return [*lines[: n_lines - 1], f"{last.rstrip()}…"]


def _draw_cell(
    sheet: Image.Image, pen: ImageDraw.ImageDraw, cell: Cell, corner: tuple[int, int], style: _Style, crop: bool
) -> None:
    x, y = corner
    place, radius = (style.width, style.height), style.width / 32
    if cell.picture is not None:
        # Twice the place, so that a JPEG decoded at a fraction of its size is still shrunk and not enlarged.
        photo = open_image(cell.picture, at_least=2 * max(place))
        stretch = photo.width * style.height / (photo.height * style.width)
        if crop or 1 / _ALMOST < stretch < _ALMOST:
            photo = ImageOps.fit(photo, place, Image.Resampling.LANCZOS)
        else:
            photo = ImageOps.contain(photo, place, Image.Resampling.LANCZOS)
            sheet.paste(TILE, corner, _rounded(place, radius))
        middle = (x + (style.width - photo.width) // 2, y + (style.height - photo.height) // 2)
        sheet.paste(photo, middle, _rounded(photo.size, radius))
        if cell.accented:
            sheet.paste(ACCENT, corner, _rounded(place, radius, max(2, round(style.width / 70))))
    text, note = style.lines_of(cell)
    at = (x + style.width + style.gap, y) if style.beside else (x, y + style.height + round(0.55 * style.letters))
    bottom = _write(pen, at, text, _font(style.letters), INK)
    _write(pen, (at[0], bottom + 0.3 * style.note_letters), note, _font(style.note_letters), PALE)


def _write(
    pen: ImageDraw.ImageDraw,
    corner: tuple[float, float],
    lines: Sequence[str],
    font: ImageFont.FreeTypeFont,
    colour: Colour,
) -> float:
    """Write lines below each other; gives where the next one would begin."""
    x, y = corner
    for line in lines:
        pen.text((x, y + font.size * _LEADING / 2), line, fill=colour, font=font, anchor="lm")
        y += font.size * _LEADING
    return y


def _rounded(size: tuple[int, int], radius: float, line: int = 0) -> Image.Image:
    """The mask of a rectangle with round corners, or of its outline only."""
    large = (size[0] * _SMOOTH, size[1] * _SMOOTH)
    mask = Image.new("L", large, 0)
    edges = (0, 0, large[0] - 1, large[1] - 1)
    fill, outline = (0, 255) if line else (255, None)
    ImageDraw.Draw(mask).rounded_rectangle(edges, radius * _SMOOTH, fill=fill, outline=outline, width=line * _SMOOTH)
    return mask.resize(size, Image.Resampling.LANCZOS)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)  # comes with Pillow: sheets look the same on every machine
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise SeesayError("this Pillow was built without FreeType and cannot draw letters", hint="pip install pillow")
    return font
