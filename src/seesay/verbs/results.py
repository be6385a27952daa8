"""What the results of the verbs have in common: a picture, HTML for notebooks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.system.progress import Progress

Box = tuple[float, float, float, float]
"""Left, top, right, bottom as fractions of the image."""
Bars = Callable[[str], "AbstractContextManager[Progress]"]
"""Called with what is being done; gives what is told how much of it is done, and how much there is."""


@contextmanager
def no_bars(title: str) -> "Iterator[Progress]":
    """Tell nobody how far things are."""
    yield lambda done, total: None


def say_share(share: float) -> str:
    """A share of people who say yes, as a person reads it.

    Example:
        >>> say_share(0.42), say_share(0.02)
        (' 42 % likely  ', '  2 % unlikely')
    """
    from seesay.library.ranking.calibration import word_for

    return f"{100 * share:3.0f} % {word_for(share):<8}"


class Drawn(ABC):
    """A result that a picture says best: `draw()` gives it, `show()` opens it, a notebook shows it by itself."""

    @abstractmethod
    def draw(self) -> "Image":
        """The picture."""

    def show(self) -> None:
        """Open the picture in the viewer of the system."""
        self.draw().show()

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<div>{escape(line)}</div>" for line in repr(self).splitlines())
        return f"{picture_html(self.draw())}{lines}"


def picture_html(picture: "Image", height: int = 0) -> str:
    """A picture as an HTML element that holds it, as high as `height` pixels where that is given."""
    from base64 import b64encode

    data = BytesIO()
    shown = picture.convert("RGB")
    if height:
        shown.thumbnail((8 * height, 2 * height))  # twice as many pixels, for screens that have them
    shown.save(data, "JPEG", quality=85)
    style = f"height:{height}px" if height else "max-width:100%"
    return f'<img style="{style}" src="data:image/jpeg;base64,{b64encode(data.getvalue()).decode()}">'


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already.

    Example:
        >>> table_html(["score"], [["0.5"]])
        '<table><tr><th>score</th></tr><tr><td>0.5</td></tr></table>'
    """
    from html import escape

    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def in_pixels(box: Box, size: tuple[int, int]) -> list[int]:
    """Left, top, width and height of a box in an image of this size.

    Example:
        >>> in_pixels((0.1, 0.2, 0.5, 1.0), (200, 100))
        [20, 20, 80, 80]
    """
    width, height = size
    left, top, right, bottom = box
    x, y = round(left * width), round(top * height)
    return [x, y, round(right * width) - x, round(bottom * height) - y]


def lines(*several: str) -> str:
    """Lines below each other, without empty ones: how results are printed."""
    return "\n".join(line for line in several if line)
