"""Drawings of explanations: the photo, the heat on it, and the sentence with its words tinted by weight (Figure 6)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw

from seesay.drawing.overlay import PALETTE, draw_heat, fit
from seesay.drawing.sheets import INK, PAPER, Cell, Colour, _font, draw_sheet, wrap
from seesay.explainers.explanation import Explanation, scale_heat

_SMOOTH = 3
_LEAST_TINT, _MOST_TINT = 0.0, 0.75


def draw_weighted_words(words: Sequence[str], weights: ArrayLike, width: int, *, size: int = 22) -> Image.Image:
    """A strip of paper with a sentence whose words stand on a tint, the stronger the more they weigh.

    Args:
        words: From left to right.
        weights: (T,) not negative; the largest gets the full tint.
        width: Of the strip, in pixels; long sentences are broken into lines.
        size: Of the letters.

    Example:
        >>> strip = draw_weighted_words(["a", "dog", "runs"], [0.0, 1.0, 0.4], 200)
        >>> strip.width, strip.getpixel((0, 0))
        (200, (255, 255, 255))
    """
    strengths = np.asarray(weights, np.float64)
    strengths = strengths / max(float(strengths.max(initial=0)), 1e-12)
    font, pad, scale = _font(size * _SMOOTH), 0.35 * size * _SMOOTH, _SMOOTH
    rows: list[list[tuple[str, float, float]]] = [[]]
    x = 2 * pad
    for whole, strength in zip(words, strengths, strict=True):
        word = "".join(wrap(whole, font, width, 1))
        length = font.getlength(word)
        if rows[-1] and x + length + 2 * pad > width * scale:
            rows.append([])
            x = 2 * pad
        rows[-1].append((word, float(strength), x))
        x += length + 2 * pad
    line = round(1.75 * size * scale)
    strip = Image.new("RGB", (width * scale, line * len(rows) + round(2 * pad)), PAPER)
    pen = ImageDraw.Draw(strip)
    for number, row in enumerate(rows):
        top = round(pad) + number * line
        for word, strength, left in row:
            tint = _mix(PAPER, PALETTE[0], _LEAST_TINT + (_MOST_TINT - _LEAST_TINT) * strength)
            box = (left - 0.8 * pad, top + 0.1 * line, left + font.getlength(word) + 0.8 * pad, top + 0.9 * line)
            pen.rounded_rectangle(box, 0.22 * line, fill=tint)
            pen.text((left, top + line / 2), word, fill=INK, font=font, anchor="lm")
    return strip.resize((width, round(strip.height / scale)), Image.Resampling.LANCZOS)


def draw_explanation(image: Image.Image, explanation: Explanation, *, side: int = 640) -> Image.Image:
    """An image with its heat, and under it the sentence with its words tinted by their weights."""
    picture = draw_heat(fit(image, side), explanation.heat)
    letters = max(13, side // 30)
    strip = draw_weighted_words(explanation.words, explanation.weights, max(picture.width, 10 * letters), size=letters)
    paper = Image.new("RGB", (strip.width, picture.height + strip.height), PAPER)
    paper.paste(picture, ((paper.width - picture.width) // 2, 0))
    paper.paste(strip, (0, picture.height))
    return paper


def draw_steps(
    image: Image.Image,
    explanations: Sequence[Explanation],
    labels: Sequence[str] = (),
    *,
    title: str = "",
    width: int = 300,
) -> Image.Image:
    """The sheet of sm-LSTM's Figures 4 and 5: for each explanation a row, in it the image as each step sees it.

    Args:
        image: To draw on.
        explanations: With steps; of several models for the same sentence, such as one with and one without context.
        labels: What stands before each row.
        title: Above all; the sentence.
        width: Of an image.
    """
    picture = fit(image, 2 * width)
    cells = [
        Cell(draw_heat(picture, scale_heat(step.map)), " · ".join(step.top(explanation.words)), f"step {number}")
        for explanation in explanations
        for number, step in enumerate(explanation.steps, 1)
    ]
    columns = max(len(explanation.steps) for explanation in explanations)
    return draw_sheet(cells, columns, title=title, row_labels=labels, width=width)


def draw_identification(
    images: Sequence[Image.Image],
    explanations: Sequence[Explanation],
    labels: Sequence[str],
    *,
    title: str = "",
    width: int = 300,
) -> Image.Image:
    """The sheet of Figure 6: in each row an image, where the match rests in it, and on which words.

    Args:
        images: The candidates, the best first.
        explanations: Of each with the same sentence.
        labels: What is written under each image.
        title: Above all; the sentence.
        width: Of an image.
    """
    cells: list[Cell] = []
    for place, (image, explanation, label) in enumerate(zip(images, explanations, labels, strict=True)):
        heat = draw_heat(fit(image, 2 * width), explanation.heat)
        panel = Image.new("RGB", (2 * width, round(1.5 * width)), PAPER)
        panel.paste(draw_weighted_words(explanation.words, explanation.weights, 2 * width, size=width // 9), (0, 0))
        cells += [Cell(image, label, accented=place == 0), Cell(heat), Cell(panel)]
    return draw_sheet(cells, 3, title=title, width=width)


def _mix(first: Colour, second: Colour, share: float) -> Colour:
    red, green, blue = (round((1 - share) * a + share * b) for a, b in zip(first, second, strict=True))
    return red, green, blue
