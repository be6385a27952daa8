"""Words that name nothing, and the two ways of counting the others."""

from seesay.text.function_words import FUNCTION_WORDS, SILENT_WORDS, content_words, name_things


def test_content_words_are_those_that_say_what_is_seen() -> None:
    assert content_words("The man's dog is on a snow-covered hill!") == ["man", "dog", "snow", "covered", "hill"]
    assert content_words("in the") == []


def test_search_counts_how_things_stand_to_each_other_and_grounding_does_not() -> None:
    words = ["dog", "behind", "fence"]
    assert content_words("a dog behind the fence") == words
    assert name_things(words) == [True, False, True]


def test_what_search_does_not_count_nobody_counts() -> None:
    assert SILENT_WORDS < FUNCTION_WORDS
