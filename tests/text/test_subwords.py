"""Subwords in place of words, and how either travels with weights."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from seesay.errors import SeesayError
from seesay.text.subwords import FREQUENT, LONGEST, Subwords
from seesay.text.tokenizer import read_tokenizer
from seesay.text.vocabulary import Vocabulary

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "dog", "##s", "run", "##ning", "r", "##u", "##n")


@pytest.fixture
def subwords() -> Subwords:
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return Subwords(tokenizer.to_str())


def test_a_word_is_read_in_the_longest_pieces_that_there_are(subwords: Subwords) -> None:
    assert subwords.encode("Dogs running!") == [2, 4, 5, 6, 7, 1, 3]
    assert (subwords.pad, subwords.unknown, len(subwords)) == (0, 1, len(PIECES))


def test_rows_are_padded_and_say_which_numbers_count(subwords: Subwords) -> None:
    numbers, mask = subwords.rows(["dog", "dogs run"])
    assert numbers.tolist() == [[2, 4, 3, 0, 0], [2, 4, 5, 6, 3]]
    assert mask.sum(1).tolist() == [3, 5]
    assert subwords.rows([])[0].shape == (0, 0)


def test_a_long_sentence_is_cut(subwords: Subwords) -> None:
    numbers = subwords.encode("dog " * 1000)
    assert len(numbers) == LONGEST
    assert numbers[-1] == 3


@pytest.mark.parametrize(("word", "count"), [("dog", FREQUENT), ("dogs", 1), ("zebra", 0), ("", 0)])
def test_a_word_counts_as_frequent_where_it_is_one_piece(subwords: Subwords, word: str, count: int) -> None:
    assert subwords.count(word) == count
    assert (word in subwords) == (count > 0)


def test_a_smaller_tokenizer_reads_the_same_words_in_shorter_pieces(subwords: Subwords) -> None:
    smaller, kept = subwords.keep({"dog"})
    assert [subwords.tokens[number] for number in kept] == smaller.tokens
    assert [smaller.tokens[number] for number in smaller.encode("dogs run")] == [
        "[CLS]", "dog", "##s", "r", "##u", "##n", "[SEP]",
    ]  # fmt: skip


def test_a_pattern_that_tries_for_ever_is_the_tokenizers_fault(subwords: Subwords) -> None:
    """The package gives up after some millions of tries, by a panic that is no `Exception`."""
    table = json.loads(subwords.to_json())
    pattern = {"Regex": "(a+)+$"}
    table["pre_tokenizer"] = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    hostile = Subwords(json.dumps(table), "theirs.json")
    text = "a" * 40 + "b"
    for read in (hostile.encode, hostile.count, lambda text: hostile.rows([text])):
        with pytest.raises(SeesayError, match=r"theirs.json is not a tokenizer that can be read"):
            read(text)


def test_a_tokenizer_of_another_kind_is_refused() -> None:
    tokenizer = Tokenizer(models.WordLevel({piece: number for number, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    with pytest.raises(SeesayError, match=r"theirs.json is of the kind 'WordLevel'\n  allowed: WordPiece"):
        Subwords(tokenizer.to_str(), "theirs.json")


class TestFiles:
    def test_it_comes_back_from_its_file(self, subwords: Subwords, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_text(subwords.to_json())
        again = read_tokenizer(tmp_path, fingerprint=subwords.fingerprint())
        assert isinstance(again, Subwords)
        assert again.encode("dogs run") == subwords.encode("dogs run")

    def test_whole_words_come_back_from_theirs(self, tmp_path: Path) -> None:
        vocabulary = Vocabulary.build(["a dog runs"], min_count=1)
        (tmp_path / "vocabulary.json").write_text(vocabulary.to_json())
        assert read_tokenizer(tmp_path) == vocabulary

    def test_a_missing_file_is_named_as_the_model_would_have_it(self, tmp_path: Path) -> None:
        with pytest.raises(SeesayError, match=r"cannot read .*tokenizer\.json: No such file"):
            read_tokenizer(tmp_path, [Subwords])
        with pytest.raises(SeesayError, match=r"cannot read .*vocabulary\.json: No such file"):
            read_tokenizer(tmp_path)

    @pytest.mark.parametrize("text", ["", "{}", '{"model": {}}', "[1]"])
    def test_what_is_no_tokenizer_is_refused_by_name(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "tokenizer.json").write_text(text)
        with pytest.raises(SeesayError, match=r"tokenizer\.json is not a tokenizer"):
            read_tokenizer(tmp_path, [Subwords])

    def test_one_without_the_special_tokens_is_refused(self) -> None:
        tokenizer = Tokenizer(models.WordPiece({"[PAD]": 0, "[UNK]": 1, "dog": 2}, unk_token="[UNK]"))
        with pytest.raises(SeesayError, match=r"the tokenizer has no \[CLS\]\n  allowed: a WordPiece tokenizer"):
            Subwords(tokenizer.to_str())

    def test_one_of_other_weights_is_refused(self, subwords: Subwords, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_text(subwords.to_json())
        with pytest.raises(SeesayError, match=r"has the words \w{12}, its config\.json was written for 0123"):
            read_tokenizer(tmp_path, fingerprint="0123")


def test_pieces_spell_anything_and_mean_something_only_where_they_spell_a_word(subwords: Subwords) -> None:
    assert [subwords.knows(word) for word in ("dog", "dogs", "running", "dogning", "cat")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert "dogning" in subwords


@pytest.mark.parametrize("text", ["dog \udcff", "\ud800 dog", "dog caf\udcc3\udca9", "dog \0"])
def test_text_that_is_none_is_read_all_the_same(subwords: Subwords, text: str) -> None:
    assert 4 in subwords.encode(text)
    assert 4 in subwords.rows([text])[0]
    assert subwords.count(text.replace("dog", "").strip()) == 0
