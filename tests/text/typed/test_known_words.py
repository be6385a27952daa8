import pytest

from seesay.text.typed.known_words import read_words
from seesay.text.typed.spelling import edits_between, is_common, nearest_spelling, other_number
from seesay.text.vocabulary import Vocabulary

KNOWN = Vocabulary.build(
    ["a dog plays in the snow on the grass"] * 20
    + ["children ride a motorcycle and a bicycle", "two women with an umbrella at a cafe", "a boy is cute", "la un"],
    min_count=1,
)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("a dgo", "a dog"),
        ("snwo", "snow"),
        ("grasss", "grass"),
        ("childrn", "children"),
        ("motrcylce", "motorcycle"),  # two edits
        ("two umbrellas", "two umbrella"),
        ("bicycles", "bicycle"),
        ("cafés", "cafe"),
        ("snw", "snow"),  # of three letters one may be missing
        ("boyes", "boy"),
    ],
)
def test_a_misspelt_word_is_read_as_the_known_one(typed: str, read: str) -> None:
    reading = read_words(typed, KNOWN)
    assert (reading.text, reading.unknown, reading.is_lost) == (read, (), False)
    assert reading.notes() == [f"{old!r} is read as {new!r}" for old, new in reading.replaced]
    assert len(reading.replaced) == 1


def test_a_real_word_that_was_never_learned_is_not_taken_for_another() -> None:
    assert nearest_spelling("lute", KNOWN) == "cute"
    assert is_common("lute")
    reading = read_words("a dog with a lute", KNOWN)
    assert (reading.text, reading.unknown, reading.is_lost) == ("a dog with a lute", ("lute",), False)
    assert reading.notes(without="the rest counts") == ["the model has never learned 'lute': the rest counts"]


def test_three_letters_are_not_taken_for_a_word_of_another_first_letter_or_of_other_three() -> None:
    assert [nearest_spelling(word, KNOWN) for word in ("now", "dig", "nsow", "rid")] == [None, None, "snow", "ride"]


def test_letters_between_the_first_and_the_last_may_stand_in_any_two_wrong_places() -> None:
    known = Vocabulary.build(["a bicycle on a beach"], min_count=1)
    assert [nearest_spelling(word, known) for word in ("bycicle", "beahc", "bcaeh", "ebach", "lcycibe")] == [
        "bicycle",
        "beach",
        "beach",
        "beach",
        None,
    ]


def test_a_word_that_lost_its_last_letters_is_no_singular() -> None:
    known = Vocabulary.build(["a tree", "two trees and a box", "three boxes"], min_count=1)
    assert [other_number(word, known) for word in ("tre", "thre", "boxe", "boxs")] == [None, None, "boxes", "box"]
    assert read_words("thre", known).text == "three"


def test_a_text_of_unknown_words_alone_is_lost() -> None:
    reading = read_words("the zeppelins over chromodynamics", KNOWN)
    assert reading.is_lost
    assert reading.notes(lost="nothing is found") == [
        "the model has never learned 'zeppelins' and 'chromodynamics': nothing is found"
    ]


def test_a_text_without_words_is_lost() -> None:
    for typed in ("", " ", "🐶", "!?"):
        reading = read_words(typed, KNOWN)
        assert (reading.is_lost, reading.unknown) == (True, ())
        assert reading.notes(lost="nothing is found") == [f"there are no words in {typed!r}: nothing is found"]


def test_exact_keeps_what_is_typed_and_says_what_may_have_been_meant() -> None:
    reading = read_words("a dgo", KNOWN, exact=True)
    assert (reading.text, reading.unknown, reading.is_lost) == ("a dgo", ("dgo",), True)
    assert reading.notes()[-1] == "did you mean 'dog' instead of 'dgo'?"


def test_a_word_that_means_something_otherwise_is_left_alone() -> None:
    assert read_words("a dgo", KNOWN, is_named=lambda word: word == "dgo").notes() == []


@pytest.mark.parametrize(
    ("typed", "language"),
    [
        ("un chien dans la neige", "French"),
        ("ein hund spielt im schnee", "German"),
        ("el perro", "Spanish"),
        ("een hond in het gras", "Dutch"),
        ("un cane nella neve", "Italian"),
        ("собака", "the Cyrillic script"),
        ("犬が走る", "Chinese characters"),
        ("σκύλος", "Greek"),
    ],
)
def test_another_language_is_named(typed: str, language: str) -> None:
    reading = read_words(typed, KNOWN)
    assert (reading.language, reading.text, reading.is_lost) == (language, typed, True)
    (note,) = reading.notes()
    assert language in note
    assert note.endswith("and only English is understood")


@pytest.mark.parametrize(
    "typed", ["a dog plays on the grass", "the dog and the zeppelin", "", "🐶", "!?", "the of and"]
)
def test_english_is_not_taken_for_another_language(typed: str) -> None:
    assert read_words(typed, KNOWN).language is None


def test_short_and_long_nonsense_is_neither_replaced_nor_slow() -> None:
    for typed in ("xq", "x" * 10_000, "dg0", " ".join(["asdfgh"] * 5_000)):
        reading = read_words(typed, KNOWN)
        assert (reading.replaced, reading.is_lost) == ((), True)
        assert len(reading.notes()[0]) < 200


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("", "", 0), ("dog", "", 3), ("dgo", "dog", 1), ("abcd", "badc", 2), ("kitten", "sitting", 3)],
)
def test_edits_are_counted_both_ways(one: str, other: str, edits: int) -> None:
    assert edits_between(one, other) == edits_between(other, one) == edits
