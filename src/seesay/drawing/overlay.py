"""The one way seesay draws on images: boxes with labels, sentences with coloured words, heat maps.

Everything takes an image and gives a larger or equal one; nothing that is passed in is changed. Boxes are left, top,
right, bottom as fractions of the image. Lines and letters are drawn at three times their size and then shrunk, so
that they are smooth on small photos too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw, ImageFont

from seesay.drawing.sheets import PALE, PAPER, Colour, _font, wrap
from seesay.errors import SeesayError
from seesay.images.crops import Box

PALETTE: tuple[Colour, ...] = (
    (230, 97, 1), (0, 114, 178), (0, 150, 110), (204, 60, 120), (130, 90, 200), (190, 150, 0), (60, 170, 220),
    (150, 75, 40), (95, 125, 40), (220, 80, 70),
)  # fmt: skip
"""Colours for things side by side, told apart in the first places also by those who do not see red or green."""

_SMOOTH = 3
_HEAT = ((120, 40, 140), (200, 45, 90), (240, 105, 40), (255, 180, 50), (255, 245, 170))  # as embers, glowing up


@dataclass(frozen=True, slots=True)
class Mark:
    """A box to draw, with a few words at its corner."""

    box: Box
    label: str = ""
    colour: Colour = PALETTE[0]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence to draw: coloured where it has a place in the image, faint where it has none."""

    text: str
    colour: Colour | None = None


def colour_of(place: int) -> Colour:
    """The colour of the first, second, … thing; they repeat when they run out.

    Example:
        >>> colour_of(0) == colour_of(len(PALETTE)) == PALETTE[0]
        True
    """
    return PALETTE[place % len(PALETTE)]


def fit(image: Image.Image, side: int = 640) -> Image.Image:
    """The image as RGB, resized so that its longer side has `side` pixels."""
    scale = side / max(image.size)
    size = tuple(max(1, round(edge * scale)) for edge in image.size)
    return image.convert("RGB").resize((size[0], size[1]), Image.Resampling.LANCZOS)


def draw_boxes(image: Image.Image, marks: Sequence[Mark]) -> Image.Image:
    """Draw boxes, the largest first so that none hides a smaller one, and their labels on top of all.

    Example:
        >>> drawn = draw_boxes(Image.new("RGB", (90, 60)), [Mark((0.1, 0.1, 0.9, 0.9), "a dog")])
        >>> drawn.size, drawn.getpixel((10, 40)) == PALETTE[0]
        ((90, 60), True)
    """
    width, height = image.size
    line = max(2.0, min(width, height) / 130)
    layer, pen = _layer(image.size)
    ordered = sorted(marks, key=lambda mark: -_area(mark.box))
    corners = [_corners(mark.box, width, height, line) for mark in ordered]
    for mark, place in zip(ordered, corners, strict=True):
        left, top, right, bottom = (edge * _SMOOTH for edge in place)
        outer = [left, top, right - 1, bottom - 1]  # Pillow draws the last pixel too
        # A light seam on both sides keeps the line visible on every background.
        halo = [outer[0] - _SMOOTH, outer[1] - _SMOOTH, outer[2] + _SMOOTH, outer[3] + _SMOOTH]
        radius = 2.2 * line * _SMOOTH
        pen.rounded_rectangle(halo, radius, outline=(255, 255, 255, 190), width=round((line + 2) * _SMOOTH))
        pen.rounded_rectangle(outer, radius, outline=(*mark.colour, 255), width=round(line * _SMOOTH))
    taken: list[tuple[float, float, float, float]] = []
    for mark, place in zip(ordered, corners, strict=True):
        if mark.label:
            _tag(pen, mark, place, (width, height), taken)
    return _flatten(image, layer)


def draw_sentence(words: Sequence[Word], width: int, *, size: int = 20) -> Image.Image:
    """A strip of paper with a sentence, broken into lines; coloured words stand on a tint of their colour.

    Neighbouring words of one colour share one tint, so that a phrase is seen as one.
    """
    if width < 4 * size:
        raise SeesayError(f"a strip of {width} pixels for letters of {size}", allowed=f"{4 * size} pixels or more")
    scale = _SMOOTH
    font, pad = _font(size * scale), 0.55 * size * scale
    space, line = 1.5 * font.getlength(" "), 1.7 * size * scale
    rows: list[list[tuple[Word, float, float]]] = [[]]
    x = pad
    for word in words:
        word = replace(word, text=_shorten(word.text, font, width * scale - 2 * pad))
        length = font.getlength(word.text)
        if rows[-1] and x + length > width * scale - pad:
            rows.append([])
            x = pad
        rows[-1].append((word, x, x + length))
        x += length + space
    strip = Image.new("RGB", (width * scale, round(len(rows) * line + 1.1 * pad)), PAPER)
    pen = ImageDraw.Draw(strip)
    for number, row in enumerate(rows):
        top = number * line + 0.55 * pad
        for colour, left, right in _runs(row):
            edges = (left - 0.22 * size * scale, top + 0.1 * line, right + 0.22 * size * scale, top + 0.9 * line)
            pen.rounded_rectangle(edges, 0.24 * line, fill=_tint(colour))
        for word, left, _ in row:
            pen.text((left, top + line / 2), word.text, fill=_darker(word.colour), font=font, anchor="lm")
    return strip.resize((width, round(strip.height / scale)), Image.Resampling.LANCZOS)


def draw_alignment(image: Image.Image, marks: Sequence[Mark], words: Sequence[Word], *, side: int = 640) -> Image.Image:
    """An image with its boxes, and under it the sentence whose words have the colours of the boxes."""
    picture = draw_boxes(fit(image, side), marks)
    if not words:
        return picture
    letters = max(13, side // 32)
    strip = draw_sentence(words, max(picture.width, 8 * letters), size=letters)
    paper = Image.new("RGB", (strip.width, picture.height + strip.height), PAPER)
    paper.paste(picture, ((paper.width - picture.width) // 2, 0))
    paper.paste(strip, (0, picture.height))
    return paper


def draw_heat(image: Image.Image, heat: ArrayLike, *, strength: float = 0.8) -> Image.Image:
    """Lay a heat map over an image: where it is cold the image turns pale and grey, where it is hot it glows.

    Args:
        image: Any image.
        heat: (rows, columns) numbers from 0 to 1; they are spread smoothly over the image.
        strength: How much of the colour covers the image where it is hottest.
    """
    values = np.asarray(heat, np.float32)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise SeesayError(
            f"a heat map of shape {values.shape}", allowed="(rows, columns) of numbers without NaN or inf"
        )
    spread = Image.fromarray(values.clip(0, 1)).resize(image.size, Image.Resampling.BICUBIC)
    warmth = np.asarray(spread).clip(0, 1)[..., None]  # (H, W, 1)
    pixels = np.asarray(image.convert("RGB"), np.float32)
    grey = pixels.mean(axis=2, keepdims=True)
    calm = 0.55 * grey + 0.45 * pixels
    base = calm + (pixels - calm) * np.minimum(1, 2 * warmth)
    stops = np.linspace(0, 1, len(_HEAT))
    flame = np.stack([np.interp(warmth[..., 0], stops, [stop[c] for stop in _HEAT]) for c in range(3)], axis=2)
    cover = strength * warmth * warmth * (3 - 2 * warmth)  # nothing at all where it is cold
    return Image.fromarray((base * (1 - cover) + flame * cover).clip(0, 255).astype(np.uint8))


def _layer(size: tuple[int, int]) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    layer = Image.new("RGBA", (size[0] * _SMOOTH, size[1] * _SMOOTH), (255, 255, 255, 0))
    return layer, ImageDraw.Draw(layer)


def _flatten(image: Image.Image, layer: Image.Image) -> Image.Image:
    flat = image.convert("RGBA")
    flat.alpha_composite(layer.resize(image.size, Image.Resampling.BOX))  # sharper filters would ring around lines
    return flat.convert("RGB")


def _area(box: Box) -> float:
    return float((box[2] - box[0]) * (box[3] - box[1]))


def _corners(box: Box, width: int, height: int, line: float) -> tuple[float, float, float, float]:
    """The outer edges of a box's line, in pixels, inside the image."""
    left, top, right, bottom = (float(edge) for edge in box)
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise SeesayError(f"a box at {left:g}, {top:g}, {right:g}, {bottom:g}", allowed="0 to 1, with some area")
    x, y = left * width, top * height
    return x, y, max(right * width, x + 2 * line), max(bottom * height, y + 2 * line)


def _tag(
    pen: ImageDraw.ImageDraw,
    mark: Mark,
    place: tuple[float, float, float, float],
    size: tuple[int, int],
    taken: list[tuple[float, float, float, float]],
) -> None:
    """Write a label at a corner of its box where no other label stands, if there is such a corner."""
    letter = max(11.0, min(size) / 24)
    font = _font(round(letter * _SMOOTH))
    text = _shorten(mark.label, font, 0.9 * size[0] * _SMOOTH)
    wide, high = font.getlength(text) / _SMOOTH + letter, 1.5 * letter
    left, top, right, bottom = place
    corners = [(left, top - high), (left, top), (right - wide, bottom), (left, bottom), (right - wide, bottom - high)]
    options = [(min(max(x, 0), size[0] - wide), min(max(y, 0), size[1] - high)) for x, y in corners]
    x, y = next((at for at in options if not any(_meet(at, wide, high, other) for other in taken)), options[0])
    taken.append((x, y, x + wide, y + high))
    edges = [edge * _SMOOTH for edge in (x, y, x + wide, y + high)]
    pen.rounded_rectangle(edges, 0.35 * letter * _SMOOTH, fill=(*mark.colour, 255))
    middle = ((x + wide / 2) * _SMOOTH, (y + high / 2) * _SMOOTH)
    pen.text(middle, text, fill=(255, 255, 255, 255), font=font, anchor="mm")


def _meet(at: tuple[float, float], wide: float, high: float, other: tuple[float, float, float, float]) -> bool:
    return at[0] < other[2] and other[0] < at[0] + wide and at[1] < other[3] and other[1] < at[1] + high


def _runs(row: Sequence[tuple[Word, float, float]]) -> list[tuple[Colour, float, float]]:
    """Neighbouring words of one colour, with the stretch that they take."""
    runs: list[tuple[Colour, float, float]] = []
    previous: Colour | None = None
    for word, left, right in row:
        if word.colour is not None:
            if word.colour == previous:
                runs[-1] = (word.colour, runs[-1][1], right)
            else:
                runs.append((word.colour, left, right))
        previous = word.colour
    return runs


def _tint(colour: Colour) -> Colour:
    red, green, blue = (round(255 - 0.17 * (255 - part)) for part in colour)
    return red, green, blue


def _darker(colour: Colour | None) -> Colour:
    red, green, blue = (round(0.78 * part) for part in colour) if colour is not None else PALE
    return red, green, blue


def _shorten(text: str, font: ImageFont.FreeTypeFont, width: float) -> str:
    return "".join(wrap(text, font, int(width), 1))
