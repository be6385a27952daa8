"""Where a box lies in an image, in words."""

from collections.abc import Sequence


def place_in_words(box: Sequence[float]) -> str:
    """Where a box lies in an image, for those who cannot see it.

    Args:
        box: Left, top, right, bottom as fractions of the image.

    Example:
        >>> [place_in_words(box) for box in ((0, 0.7, 0.3, 1), (0, 0, 1, 0.3), (0.4, 0.3, 0.6, 0.7), (0, 0, 1, 0.9))]
        ['at the lower left', 'at the top', 'in the middle', 'almost everywhere']
    """
    left, top, right, bottom = box
    if (right - left) * (bottom - top) > 0.6:
        return "almost everywhere"
    column = _third(left, right, "left", "right")
    row = _third(top, bottom, "upper", "lower")
    if row and column:
        return f"at the {row} {column}"
    if row:
        return "at the top" if row == "upper" else "at the bottom"
    return f"at the {column}" if column else "in the middle"


def _third(start: float, end: float, first: str, last: str) -> str:
    middle = (start + end) / 2
    if end - start > 0.75 or 0.4 <= middle <= 0.6:
        return ""
    return first if middle < 0.4 else last
