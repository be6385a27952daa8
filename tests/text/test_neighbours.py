import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.text.neighbours import close_spellings, nearest_words
from seesay.text.vocabulary import SPECIAL, Vocabulary

VOCABULARY = Vocabulary.build(["dog dog dog puppy puppy cat cats car"], min_count=1)
PLACES = {"dog": (0.0, 0.0), "puppy": (0.0, 3.0), "cat": (3.0, 4.0), "cats": (-3.0, -4.0), "car": (10.0, 0.0)}
ROWS = [(0.0, 0.0)] * len(SPECIAL) + [PLACES[word] for word in VOCABULARY.words[len(SPECIAL) :]]
VECTORS = np.array(ROWS, np.float32)


def test_words_are_ordered_by_euclidean_distance_without_the_word_itself_and_the_signs() -> None:
    found = nearest_words(VECTORS, VOCABULARY, "dog", 3)
    assert found == [("puppy", 3.0), ("cat", 5.0), ("cats", 5.0)]


def test_all_words_are_given_where_there_are_fewer_than_asked_for() -> None:
    assert [word for word, _ in nearest_words(VECTORS, VOCABULARY, "car", 99)] == ["cat", "dog", "puppy", "cats"]


def test_the_vectors_are_left_as_they_are() -> None:
    before = VECTORS.copy()
    nearest_words(VECTORS, VOCABULARY, "dog")
    assert np.array_equal(VECTORS, before)


def test_an_unknown_word_is_answered_with_close_spellings() -> None:
    with pytest.raises(SeesayError, match="'cats!' is not among the 5 words") as error:
        nearest_words(VECTORS, VOCABULARY, "cats!")
    assert error.value.hint == "cats, cat"
    with pytest.raises(SeesayError, match="<pad>"):
        nearest_words(VECTORS, VOCABULARY, "<pad>")
    with pytest.raises(SeesayError, match="n is 0"):
        nearest_words(VECTORS, VOCABULARY, "dog", 0)


def test_spellings_that_are_not_close_are_not_named() -> None:
    assert close_spellings(VOCABULARY, "Pupppy") == ["puppy"]
    assert close_spellings(VOCABULARY, "okapi") == []
