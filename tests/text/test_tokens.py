"""What a token is."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seesay.text.tokens import token_spans, tokenize

sentences = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="aAnstd0123'’.,-& ŉİｆΣ́ͅ", max_size=30),
    st.lists(st.sampled_from(["man's", "n't", "'s", "'", "isn't", "o'clock", "1,000", "U.S.", "x-y", "&", "é"]))
    .map(" ".join)
    .filter(bool),
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A child in a pink dress .", "a child in a pink dress"),
        ("The man's dog; the men 's dogs", "the man 's dog the men 's dogs"),
        ("it isn't, they don't, n't", "it is n't they do n't n't"),
        ("shouldn't've we'll I'm", "should n't 've we 'll i 'm"),
        ("five o'clock, rock 'n' roll, the girls' toy", "five o'clock rock n roll the girls toy"),
        ("a 'quoted' word and ''another''", "a quoted word and another"),
        ("a t-shirt -- black-and-white", "a t shirt black and white"),
        ("number #5, 1,000 people, 3.5 km, 2012.", "number 5 1,000 people 3.5 km 2012"),
        ("end.Start and a,b", "end start and a b"),
        ("salt & pepper, b&w", "salt and pepper b and w"),
        ('he said: "go" (now)!?', "he said go now"),
        ("snake_case/slash", "snake case slash"),
        ("the man’s ﬁsh ＤＯＧ", "the man 's fish dog"),
    ],
)
def test_a_sentence_gives_lower_case_treebank_words_without_punctuation(sentence: str, expected: str) -> None:
    assert tokenize(sentence) == expected.split()


@pytest.mark.parametrize(
    "sentence", ["", " \t\n\u00a0\u3000", ".", "?!…—", "🐶🎉", "'", "''", "\u200d\ufe0f" * 3, "\x00"]
)
def test_a_sentence_without_words_has_no_tokens(sentence: str) -> None:
    assert tokenize(sentence) == []


def test_emoji_are_dropped_and_do_not_join_their_neighbours() -> None:
    assert tokenize("dog🐶runs 👩‍👩‍👧 fast") == ["dog", "runs", "fast"]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ein Mädchen läuft über die Straße.", ["ein", "mädchen", "läuft", "über", "die", "straße"]),
        ("две собаки играют", ["две", "собаки", "играют"]),
        ("दो कुत्ते", ["दो", "कुत्ते"]),
        ("两只狗在雪地里玩。", ["两只狗在雪地里玩"]),
    ],
)
def test_letters_of_every_script_stay_with_their_marks(sentence: str, expected: list[str]) -> None:
    assert tokenize(sentence) == expected


def test_composed_and_decomposed_accents_are_the_same_word() -> None:
    assert tokenize("cafe\u0301") == tokenize("caf\u00e9")


def test_invisible_characters_do_not_split_a_word() -> None:
    assert tokenize("\ufeffsnow\u00adboard sur\u200bfer") == ["snowboard", "surfer"]


def test_a_very_long_sentence_keeps_every_word() -> None:
    assert tokenize("Dog's, " * 50_000) == ["dog", "'s"] * 50_000


@given(sentences)
@example("'s's n'tn't ''s'")
def test_tokenising_the_joined_tokens_changes_nothing(sentence: str) -> None:
    tokens = tokenize(sentence)
    assert tokenize(" ".join(tokens)) == tokens


@given(sentences)
def test_tokens_are_never_empty_and_hold_no_space(sentence: str) -> None:
    assert all(len(token.split()) == 1 for token in tokenize(sentence))


@given(sentences)
def test_spans_of_words_cover_the_tokens_of_the_sentence_in_order(sentence: str) -> None:
    words = sentence.split()
    tokens = tokenize(sentence)
    assert [tokens[first:last] for first, last in token_spans(words)] == [tokenize(word) for word in words]
    assert [token for word in words for token in tokenize(word)] == tokens
