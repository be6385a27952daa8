import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.metrics.sentences import END, References, pack


def test_packed_sentences_are_ids_that_close_with_end() -> None:
    packed, words = pack(["a dog", "", "dog"], {})
    assert packed.ids.tolist() == [words["a"], words["dog"], END, END, words["dog"], END]
    assert packed.starts.tolist() == [0, 3, 4]
    assert packed.lengths.tolist() == [2, 0, 1]


def test_any_whitespace_separates_and_lists_of_tokens_are_the_same() -> None:
    from_strings, _ = pack([" a\tdog \n", "two  cats", "   "], {})
    from_lists, _ = pack([["a", "dog"], ("two", "cats"), []], {})
    mixed, _ = pack(["a dog", ["two", "cats"], ""], {})
    for other in (from_lists, mixed):
        assert from_strings.ids.tolist() == other.ids.tolist()
        assert from_strings.lengths.tolist() == other.lengths.tolist()


def test_thousands_of_sentences_pack_like_one_at_a_time() -> None:
    rng = np.random.default_rng(0)
    sentences = [" ".join(rng.choice(list("abcdefgh"), rng.integers(0, 9))) for _ in range(1000)]
    packed, words = pack(sentences, {})
    for sentence, start, length in zip(sentences, packed.starts, packed.lengths, strict=True):
        assert packed.ids[start : start + length].tolist() == [words[word] for word in sentence.split()]


def test_hypotheses_share_the_ids_of_the_references_and_leave_them_unchanged() -> None:
    references = References([["a dog", "one dog"], ["cats"]])
    n_ids = references.sentences.n_ids
    packed = references.pack(["cats chase a bird", "bird"])
    assert packed.ids[[0, 2]].tolist() == references.sentences.ids[[6, 0]].tolist()
    assert packed.ids[3] == packed.ids[5] >= n_ids
    assert references.sentences.n_ids == n_ids
    assert references.pack(["bird"]).ids[0] == n_ids


def test_no_sentences_pack_to_nothing() -> None:
    packed, _ = pack([], {})
    assert len(packed.ids) == len(packed.starts) == len(packed.lengths) == 0


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ([], "no references"),
        ([["a dog"], []], "image 1 has no reference"),
        ([["a dog"], "a cat"], "references of image 1 are a string"),
        ([["a dog", None]], "a sentence is a NoneType"),
        ([[["a", 3]]], "a token is a int"),
        ([[[["a", "dog"]]]], "a token is a list"),
        ([["a \0 dog"]], "NUL character"),
    ],
)
def test_what_is_no_collection_of_sentences_is_refused_by_name(references: list, message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        References(references)


def test_hypotheses_are_one_per_image() -> None:
    references = References([["a dog"], ["a cat"]])
    with pytest.raises(SeesayError, match="1 hypotheses for the references of 2 images"):
        references.pack_one_per_image(["a dog"])
    with pytest.raises(SeesayError, match="one string where a list"):
        references.pack_one_per_image("a dog")
