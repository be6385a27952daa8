"""Words of a query, and the word for a probability."""

import pytest

from seesay.library.ranking.calibration import content_words, word_for


@pytest.mark.parametrize(
    ("probability", "word"), [(1, "likely"), (0.3, "likely"), (0.29, "maybe"), (0.1, "maybe"), (0.0999, "unlikely")]
)
def test_words(probability: float, word: str) -> None:
    assert word_for(probability) == word


def test_content_words_are_those_that_say_what_is_seen() -> None:
    assert content_words("The man's dog is on a snow-covered hill!") == ["man", "dog", "snow", "covered", "hill"]
    assert content_words("in the") == []
