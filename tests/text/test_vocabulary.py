"""Which words a vocabulary holds, and what it makes of sentences."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.text.tokens import tokenize
from seesay.text.vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary

SENTENCES = ["A dog runs.", "A dog sleeps.", "The dog's bone", "a cat"]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.build(SENTENCES, min_count=1)


def test_words_are_ordered_by_count_and_then_by_alphabet(vocabulary: Vocabulary) -> None:
    assert vocabulary.words == (*SPECIAL, "a", "dog", "'s", "bone", "cat", "runs", "sleeps", "the")
    assert vocabulary.counts == (0, 0, 4, 0, 3, 3, 1, 1, 1, 1, 1, 1)


def test_order_of_the_sentences_does_not_matter(vocabulary: Vocabulary) -> None:
    assert Vocabulary.build(reversed(SENTENCES), min_count=1) == vocabulary


def test_rare_words_are_counted_as_unknown() -> None:
    vocabulary = Vocabulary.build(SENTENCES, min_count=2)
    assert vocabulary.words == (*SPECIAL, "a", "dog")
    assert vocabulary.counts[UNKNOWN] == 6
    assert vocabulary.encode("a sleeping dog") == [4, UNKNOWN, 5]


def test_length_counts_the_special_signs(vocabulary: Vocabulary) -> None:
    assert len(vocabulary) == 12
    assert [vocabulary.words[index] for index in (PAD, START, END, UNKNOWN)] == list(SPECIAL)


def test_special_signs_are_no_words(vocabulary: Vocabulary) -> None:
    assert "dog" in vocabulary
    assert "zebra" not in vocabulary
    assert "<pad>" not in vocabulary
    assert vocabulary.encode("<pad> <unknown>") == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize(
    ("sentence", "ids"),
    [
        ("", []),
        ("🐶", []),
        ("dog", [5]),
        ("ein Hund läuft", [UNKNOWN] * 3),
        ("dog " * 10_000, [5] * 10_000),
        (["dog", "zebra"], [5, UNKNOWN]),
    ],
)
def test_every_sentence_has_ids(vocabulary: Vocabulary, sentence: str | list[str], ids: list[int]) -> None:
    assert vocabulary.encode(sentence) == ids


def test_decoding_stops_at_the_end_sign(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode([START, 4, UNKNOWN, 5, END, 4, PAD]) == ["a", "<unknown>", "dog"]


@pytest.mark.parametrize("index", [-1, 12])
def test_decoding_refuses_an_id_that_does_not_exist(vocabulary: Vocabulary, index: int) -> None:
    with pytest.raises(SeesayError, match=rf"no word {index}\n  allowed: 0 to 11"):
        vocabulary.decode([index])


@given(st.lists(st.text(max_size=20), min_size=1))
def test_known_sentences_come_back_from_their_ids(sentences: list[str]) -> None:
    vocabulary = Vocabulary.build([*sentences, "a"], min_count=1)
    assert [vocabulary.decode(vocabulary.encode(sentence)) for sentence in sentences] == [*map(tokenize, sentences)]


def test_coverage_is_the_share_of_known_tokens(vocabulary: Vocabulary) -> None:
    assert vocabulary.coverage(["a zebra runs", "", "the dog"]) == 0.8
    assert vocabulary.coverage(["zebra"]) == 0.0
    assert vocabulary.coverage(["", "🐶"]) == 1.0


@pytest.mark.parametrize("min_count", [0, -1])
def test_a_minimum_below_one_is_refused(min_count: int) -> None:
    with pytest.raises(SeesayError, match="from 1 upwards"):
        Vocabulary.build(SENTENCES, min_count=min_count)


@pytest.mark.parametrize("sentences", [[], [""], ["a dog"]])
def test_training_sentences_without_a_frequent_word_are_refused(sentences: list[str]) -> None:
    with pytest.raises(SeesayError, match="no word occurs 5 times"):
        Vocabulary.build(sentences, min_count=5)


def test_json_holds_one_word_a_line_and_gives_the_same_vocabulary(vocabulary: Vocabulary) -> None:
    vocabulary = Vocabulary.build([*SENTENCES, "ein Mädchen"], min_count=1)
    text = vocabulary.to_json()
    assert '\n    "dog": 3,\n' in text
    assert '\n    "mädchen": 1,\n' in text
    assert Vocabulary.from_json(text) == vocabulary


def test_fingerprint_depends_on_the_words_and_their_order_only(vocabulary: Vocabulary) -> None:
    oftener = Vocabulary.build(SENTENCES * 2, min_count=1)
    fewer = Vocabulary.build(SENTENCES, min_count=2)
    assert oftener.fingerprint() == vocabulary.fingerprint()
    assert fewer.fingerprint() != vocabulary.fingerprint()


def _changed(**changes: object) -> str:
    fields = json.loads(Vocabulary.build(SENTENCES, min_count=1).to_json())
    return json.dumps({key: value for key, value in (fields | changes).items() if value is not None})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "its keys are missing"),
        ("7", "its keys are missing"),
        ("[[1, 2]]", "its keys are missing"),
        (_changed(min_count=None), "allowed: format, min_count, n_sentences, n_unknown, words"),
        (_changed(extra=1), "its keys are .*extra"),
        (_changed(format="seesay-vocabulary-9"), "its format is 'seesay-vocabulary-9'"),
        (_changed(min_count="5"), "min_count is '5'"),
        (_changed(min_count=True), "min_count is True"),
        (_changed(n_unknown=-1), "n_unknown is -1"),
        (_changed(words=["a"]), "'words' is not an object"),
        (_changed(words={}), "'words' is not an object"),
        (_changed(words={"a": 1.5}), "the count of 'a' is 1.5"),
        (_changed(words={"a": 0}), "the count of 'a' is 0"),
        (_changed(words={"A": 1}), "'A' is not a word"),
        (_changed(words={"": 1}), "'' is not a word"),
        (_changed(words={"a": 1, "b": 1}).replace('"b"', '"a"'), "'a' stands there twice"),
    ],
)
def test_malformed_json_is_refused_by_name_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(SeesayError, match=rf"(?s)^weights/v\.json is not a vocabulary: .*{reason}"):
        Vocabulary.from_json(text, name="weights/v.json")


def test_flickr8k_training_words_cover_most_of_dev(shared_data: Path) -> None:
    folder = shared_data / "flickr8k" / "Flickr8k_text"
    train = set((folder / "Flickr_8k.trainImages.txt").read_text().split())
    dev = set((folder / "Flickr_8k.devImages.txt").read_text().split())
    captions = [line.split("\t") for line in (folder / "Flickr8k.token.txt").read_text().splitlines()]
    vocabulary = Vocabulary.build(text for name, text in captions if name.split("#")[0] in train)
    assert len(vocabulary) == 2538
    assert vocabulary.counts[END] == 30_000
    assert vocabulary.coverage(text for name, text in captions if name.split("#")[0] in dev) == pytest.approx(
        0.9675, abs=1e-4
    )
