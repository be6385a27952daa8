"""Subwords: what is read, and that a smaller tokenizer still reads everything."""

import json
from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.text.subwords import LONGEST, Subwords

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abdgos", "##o", "##g", "##s", "##b", "##a", "##d", "dog", "bag", "##ag"]


@pytest.fixture
def subwords(wordpiece: str) -> Subwords:
    return Subwords(wordpiece)


def read(subwords: Subwords, sentence: str) -> list[str]:
    return [subwords.tokens[number] for number in subwords.encode([sentence])[0]]


def test_words_are_read_in_their_longest_pieces(subwords: Subwords) -> None:
    assert read(subwords, "A dogs bag") == ["[CLS]", "a", "dog", "##s", "bag", "[SEP]"]


def test_rows_are_padded_and_masked(subwords: Subwords) -> None:
    numbers, mask = subwords.rows(["a dog", "bag"])
    assert numbers.shape == (2, 4)
    assert mask.tolist() == [[True] * 4, [True] * 3 + [False]]
    assert numbers[1, 3] == subwords.pad


def test_a_book_is_cut(subwords: Subwords) -> None:
    assert len(subwords.encode(["dog " * 500])[0]) == LONGEST


def test_a_smaller_tokenizer_reads_in_shorter_pieces(subwords: Subwords) -> None:
    letters = {token for token in subwords.tokens if len(token.removeprefix("##")) == 1}
    smaller, kept = subwords.keep({"dog"} | letters)
    assert read(smaller, "dog bag") == ["[CLS]", "dog", "b", "##a", "##g", "[SEP]"]
    assert [subwords.tokens[number] for number in kept] == smaller.tokens
    assert "bag" not in smaller.tokens


def test_what_is_no_tokenizer_is_named(tmp_path: Path, wordpiece: str) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(SeesayError, match="cannot read"):
        Subwords.read(path)
    path.write_text("{}")
    with pytest.raises(SeesayError, match="is no tokenizer"):
        Subwords.read(path)
    table = json.loads(wordpiece)
    del table["model"]["vocab"]["[SEP]"]
    table["post_processor"], table["added_tokens"] = None, []
    with pytest.raises(SeesayError, match=r"has no \[SEP\]"):
        Subwords(json.dumps(table))
