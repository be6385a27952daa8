"""How long vectors are: counted in average words, averaged over places, ranked against a plain idf."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.grounding.magnitudes import has_free_lengths, spearman, word_magnitudes
from seesay.runtime.protocol import Texts
from seesay.text.vocabulary import END, Vocabulary

SENTENCES = ["a dog", "a big dog", "a cat", "a zebra"]


class Words:
    """A word's vector is as long as the word has letters; the sentence itself is one more fragment."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary.build(SENTENCES[:3], min_count=1)

    def encode_texts(self, sentences: list[str]) -> Texts:
        rows = [sentence.split() for sentence in sentences]
        longest = max(map(len, rows)) + 1
        states, words = np.zeros((len(rows), longest, 2), np.float32), np.zeros((len(rows), longest), np.int64)
        for row, tokens in enumerate(rows):
            for place, word in enumerate(tokens):
                states[row, place, 1] = len(word)
            words[row, : len(tokens)] = self.vocabulary.encode(tokens)
            words[row, len(tokens)], states[row, len(tokens)] = END, 1000
        return Texts(states, words, np.array([len(tokens) + 1 for tokens in rows]))


@pytest.mark.parametrize("batch", [1, 256])
def test_a_length_is_counted_in_average_words_of_its_sentence(batch: int) -> None:
    found = {row.word: row for row in word_magnitudes(Words(), SENTENCES, min_count=1, batch=batch)}
    assert found["big"].magnitude == pytest.approx(3 / (7 / 3))
    assert found["dog"].magnitude == pytest.approx((3 / 2 + 3 / (7 / 3)) / 2)
    assert found["cat"].magnitude == pytest.approx(3 / 2)
    # The zebra is unknown and not listed, but the average of its sentence has it.
    assert found["a"].magnitude == pytest.approx((1 / 2 + 1 / (7 / 3) + 1 / 2 + 1 / 3) / 4)
    assert set(found) == {"a", "big", "dog", "cat"}


def test_free_lengths_are_taken_as_they_are() -> None:
    found = {row.word: row.magnitude for row in word_magnitudes(Words(), SENTENCES, min_count=1, relative=False)}
    assert found == {"dog": 3, "big": 3, "cat": 3, "a": 1}


@pytest.mark.parametrize(("magnitudes", "expected"), [("free", True), ("words", False)])
def test_weights_say_whether_their_lengths_are_free(magnitudes: str, expected: bool) -> None:
    model = Words()
    model.weights = SimpleNamespace(about={"config": {"magnitudes": magnitudes}})
    assert has_free_lengths(model) is expected


def test_rows_come_longest_first_with_count_and_idf() -> None:
    rows = word_magnitudes(Words(), SENTENCES, min_count=2)
    assert [(row.word, row.count) for row in rows] == [("dog", 2), ("a", 4)]
    assert [row.idf for row in rows] == pytest.approx([math.log(2), 0])


def test_the_rank_correlation_by_hand() -> None:
    assert spearman([1, 2, 3], [10, 20, 1000]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1, 2, 3], [2, 3, 1]) == pytest.approx(1 - 6 * (1 + 1 + 4) / (3 * 8))
    assert spearman([1, 2, 3], [7, 7, 7]) == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12))
def test_the_rank_correlation_is_that_of_the_counted_ranks(pairs: list[tuple[int, int]]) -> None:
    def ranks(values: list[int]) -> list[float]:
        return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]

    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert spearman(first, second) == pytest.approx(np.corrcoef(ranks(first), ranks(second))[0, 1])


@pytest.mark.parametrize(("first", "second"), [([1], [1]), ([1, 2], [1, 2, 3]), ([], [])])
def test_rows_that_cannot_be_compared_are_refused(first: list[int], second: list[int]) -> None:
    with pytest.raises(SeesayError, match="numbers to correlate"):
        spearman(first, second)
