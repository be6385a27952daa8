"""Where a box lies, in words."""

import pytest

from seesay.grounding.places import place_in_words


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((0, 0, 0.3, 0.3), "at the upper left"),
        ((0.6, 0.6, 1, 1), "at the lower right"),
        ((0, 0.7, 1, 1), "at the bottom"),
        ((0, 0, 0.2, 1), "at the left"),
        ((0.3, 0.3, 0.7, 0.7), "in the middle"),
        ((0, 0, 1, 1), "almost everywhere"),
    ],
)
def test_a_place_is_said_as_a_person_would(box: tuple[float, ...], words: str) -> None:
    assert place_in_words(box) == words
