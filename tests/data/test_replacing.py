import pytest

from seesay.data.replacing import GROUPS, TAUGHT, replace_word, replacements


def found(kind: str, *sentences: str) -> dict[str, set[str]]:
    return {way.word: set(way.others) for way in replacements(sentences, TAUGHT[kind])}


def test_a_word_gives_way_to_those_of_its_group_that_nobody_said() -> None:
    assert found("count", "two dogs", "four legs in the snow") == {
        "two": {"three", "five", "six"},
        "four": {"three", "five", "six"},
    }
    assert found("colour", "a dog") == {}


def test_a_sentence_with_two_words_of_a_group_is_left_alone() -> None:
    assert found("colour", "a black dog on a white sofa", "a sofa") == {}


def test_other_names_of_the_same_thing_count_as_said() -> None:
    assert not found("object", "a bicycle in a city", "a bike")["bicycle"] & {"motorcycle"}
    assert "inside" not in found("preposition", "a man in a boat on the sea")["on"]
    assert "below" not in found("preposition", "a bird above a tree", "a tree beneath a bird").get("above", set())


def test_places_are_taught_and_not_asked_for() -> None:
    assert set(TAUGHT) - set(GROUPS) == {"preposition"}
    assert found("preposition", "A man is left of a tree") == {"left": {"right"}}


def test_a_replacement_says_where_its_word_stands() -> None:
    (way,) = replacements(["a man", "Snow-covered, RED roofs!"], GROUPS["colour"])
    assert (way.sentence, way.at, way.word) == (1, 2, "red")


@pytest.mark.parametrize(
    ("sentence", "word", "other", "wrong"),
    [
        ("Two dogs, on a beach.", "two", "six", "six dogs, on a beach."),
        ("A red-haired man's tired cat", "red", "blue", "A blue-haired man's tired cat"),
        ("A dog's dogs", "dogs", "cats", "A dog's cats"),
    ],
)
def test_all_but_the_word_stays_as_it_is_written(sentence: str, word: str, other: str, wrong: str) -> None:
    assert replace_word(sentence, word, other) == wrong
