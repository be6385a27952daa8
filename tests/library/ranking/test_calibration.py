"""The word for a probability."""

import pytest

from seesay.library.ranking.calibration import word_for


@pytest.mark.parametrize(
    ("probability", "word"),
    [(1, "likely"), (0.3, "likely"), (0.296, "likely"), (0.29, "maybe"), (0.0951, "maybe"), (0.0949, "unlikely")],
)
def test_the_word_agrees_with_the_whole_percentage_that_is_shown(probability: float, word: str) -> None:
    assert word_for(probability) == word
