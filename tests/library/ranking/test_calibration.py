"""The word for a probability."""

import pytest

from seesay.library.ranking.calibration import word_for


@pytest.mark.parametrize(
    ("probability", "word"), [(1, "likely"), (0.3, "likely"), (0.29, "maybe"), (0.1, "maybe"), (0.0999, "unlikely")]
)
def test_words(probability: float, word: str) -> None:
    assert word_for(probability) == word
