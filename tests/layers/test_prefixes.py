"""Every distinct beginning is found once, with every distinct word that follows it."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from seesay.layers.prefixes import Prefixes
from seesay.layers.sequences import Sequences

SENTENCES = st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=12)


def find_prefixes(sentences: list[list[int]]) -> Prefixes:
    words = pad_sequence([torch.tensor(sentence, dtype=torch.long) for sentence in sentences], batch_first=True)
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    return Prefixes.of(Sequences(torch.zeros(*words.shape, 1), words, lengths))


def listed(shared: Prefixes, sentences: list[list[int]]) -> list[tuple[tuple[int, ...], list[int]]]:
    """The beginnings in their order, with the words that follow each."""
    beginnings = [tuple(sentences[text][:time]) for text, time in zip(shared.texts, shared.times, strict=True)]
    return list(zip(beginnings, [part.tolist() for part in shared.words.split(shared.n_next.tolist())], strict=True))


@given(SENTENCES)
def test_beginnings_and_next_words_are_those_of_a_loop_over_all_positions(sentences: list[list[int]]) -> None:
    expected: dict[tuple[int, ...], set[int]] = {}
    for sentence in sentences:
        for t, word in enumerate(sentence):
            expected.setdefault(tuple(sentence[:t]), set()).add(word)
    found = listed(find_prefixes(sentences), sentences)
    assert sorted(found) == sorted((beginning, sorted(words)) for beginning, words in expected.items())


@given(SENTENCES)
def test_every_sentence_is_read_along_its_own_beginnings(sentences: list[list[int]]) -> None:
    shared = find_prefixes(sentences)
    pairs = [(beginning, word) for beginning, words in listed(shared, sentences) for word in words]
    expected = [(tuple(sentence[:t]), word) for sentence in sentences for t, word in enumerate(sentence)]
    assert [pairs[step] for step in shared.steps] == expected
    assert shared.starts.tolist() == [sum(map(len, sentences[:i])) for i in range(len(sentences))]


@given(SENTENCES, st.integers(1, 4), st.integers(1, 6))
def test_runs_cover_everything_in_order_within_their_limits(
    sentences: list[list[int]], n_prefixes: int, n_words: int
) -> None:
    shared = find_prefixes(sentences)
    runs = list(shared.runs(n_prefixes, n_words))
    assert [i for prefixes, _ in runs for i in range(prefixes.start, prefixes.stop)] == list(range(len(shared.n_next)))
    assert [i for _, words in runs for i in range(words.start, words.stop)] == list(range(len(shared.words)))
    for prefixes, words in runs:
        n, n_next = prefixes.stop - prefixes.start, shared.n_next[prefixes].tolist()
        assert len(set(n_next)) == 1
        assert words.stop - words.start == sum(n_next)
        assert n == 1 or (n <= n_prefixes and sum(n_next) <= n_words)


def test_padding_that_looks_like_a_word_is_not_read() -> None:
    shared = find_prefixes([[1], [1, 0, 0]])
    assert listed(shared, [[1], [1, 0, 0]]) == [((), [1]), ((1,), [0]), ((1, 0), [0])]
