import numpy as np
import pytest

from seesay.metrics.ngrams import _sort, count_ngrams
from seesay.metrics.sentences import References


def test_every_ngram_knows_its_count_in_the_sentence_and_in_the_images() -> None:
    counts = count_ngrams(References([["a a b", "b"], ["a b", ""]]))
    assert counts.in_sentence[0].tolist() == [2, 2, 1, 0, 1, 0, 1, 1, 0, 0]
    assert counts.in_images[0].tolist() == [2, 2, 2, 1, 2, 1, 2, 2, 1, 1]
    assert counts.in_sentence[1].tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 0, 0]
    assert counts.in_images[1].tolist() == [1, 2, 1, 1, 1, 1, 2, 1, 1, 1]
    assert [own.tolist() for own in counts.n_images] == [[2, 2], [1, 2], [1], []]
    assert [len(own) for own in counts.keys] == [2, 2, 1, 0]


@pytest.mark.parametrize("high", [7, 2**62])
def test_ngrams_are_sorted_by_key_and_place_whether_or_not_both_fit_in_one_number(high: int) -> None:
    keys, places = _sort(np.array([high, 3, high, 3]), np.array([0, 1, 5, 9]))
    assert keys.tolist() == [3, 3, high, high]
    assert places.tolist() == [1, 9, 0, 5]
