"""Sentences as a tree model reads them."""

import numpy as np
import pytest

from seesay.layers.tree_plan import plan_readings
from seesay.text import readings as _readings
from seesay.text.readings import Reader, Reading, phrase_nodes
from seesay.text.trees import Tree
from seesay.text.vocabulary import UNKNOWN, Vocabulary

VOCABULARY = Vocabulary.build(["a dog sees a cat in the park"], min_count=1)
SEES = Tree.from_json('["S", ["NP", "a", "dog"], ["VP", "sees", ["NP", ["NP", "a", "cat"], ["PP", "in", "town"]]]]')


def test_all_noun_phrases_are_read_nested_ones_too() -> None:
    reading = Reading.of(SEES, VOCABULARY)
    assert reading.spans.tolist() == [[0, 2], [3, 7], [3, 5]]
    nodes = list(SEES.nodes())
    assert [nodes[place].span for place in reading.nouns] == [(0, 2), (3, 7), (3, 5)]
    assert reading.words.tolist() == [*VOCABULARY.encode("a dog sees a cat in"), UNKNOWN]
    assert reading.sizes.tolist() == [13, 3, 1, 1, 9, 1, 7, 3, 1, 1, 3, 1, 1]


def test_a_word_belongs_to_the_smallest_phrase_around_it() -> None:
    reading = Reading.of(SEES, VOCABULARY)
    assert reading.innermost.tolist() == [0, 0, -1, 2, 2, 1, 1]
    assert reading.shares.tolist() == pytest.approx([1 / 3] * 3)


def test_the_root_is_a_sentence_even_where_it_is_a_noun_phrase() -> None:
    assert len(Reading.of(Tree.from_json('["NP", "a", "dog"]'), VOCABULARY).nouns) == 0


def test_phrases_have_the_same_key_where_they_have_the_same_words() -> None:
    two = Tree.from_json('["S", ["NP", "a", "dog"], "sees", ["NP", "a", "dog"], ["NP", "a", "cat"]]')
    first, second, third = Reading.of(two, VOCABULARY).keys
    assert first == second != third


def test_a_sentence_without_words_is_one_unknown_word() -> None:
    reading = Reading.of(Tree("S", 0, 0), VOCABULARY)
    assert reading.words.tolist() == [UNKNOWN]
    assert len(reading.shape) == 1
    assert reading.spans.shape == (0, 2)


def test_words_are_computed_once_for_all_sentences_and_hidden_ones_become_the_unknown() -> None:
    readings = [Reading.of(SEES, VOCABULARY)] * 2
    words, plan = plan_readings(readings)
    assert words.tolist() == sorted(set(readings[0].words.tolist()))
    assert plan.n_inputs == len(words)
    assert len(plan.rows) == 2 * len(readings[0].shape)
    hidden = np.ones(14, bool)
    words, plan = plan_readings(readings, hidden)
    assert words.tolist() == [UNKNOWN]


def test_phrases_are_found_among_the_nodes_of_all_trees() -> None:
    readings = [Reading.of(SEES, VOCABULARY), Reading.of(Tree("S", 0, 0), VOCABULARY), Reading.of(SEES, VOCABULARY)]
    nodes, owner = phrase_nodes(readings)
    assert owner.tolist() == [0, 0, 0, 2, 2, 2]
    n_before = len(readings[0].shape) + 1
    assert nodes.tolist() == [*readings[0].nouns, *(readings[0].nouns + n_before)]


class TestReader:
    @pytest.fixture(autouse=True)
    def parser(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """A parser that hangs all words under the root, and tells what it was asked for."""
        asked: list[list[str]] = []

        def parse(sentences: list[str]) -> list[Tree]:
            asked.append(list(sentences))
            return [
                Tree("S", 0, len(sentence.split()), tuple(Tree.leaf(*pair) for pair in enumerate(sentence.split())))
                for sentence in sentences
            ]

        monkeypatch.setattr(_readings, "parse", parse)
        return asked

    def test_a_sentence_is_parsed_once(self, parser: list[list[str]]) -> None:
        reader = Reader(VOCABULARY, longest=100)
        first = reader.read(["a dog", "a cat", "a dog"])
        assert reader.read(["a cat", "the park"])[0] is first[1]
        assert first[0] is first[2]
        assert parser == [["a dog", "a cat"], ["the park"]]

    def test_it_forgets_everything_when_it_knows_too_much(self, parser: list[list[str]]) -> None:
        reader = Reader(VOCABULARY, longest=100, n_remembered=2)
        reader.read(["a dog", "a cat"])
        read = reader.read(["a cat", "the park"])
        assert [len(reading.words) for reading in read] == [2, 2]
        assert parser == [["a dog", "a cat"], ["a cat", "the park"]]

    def test_a_sentence_that_never_ends_is_cut(self, parser: list[list[str]]) -> None:
        (reading,) = Reader(VOCABULARY, longest=3).read(["a dog sees a cat in the park"])
        assert len(reading.words) == 3
        assert parser == [["a dog sees"]]


def test_a_tree_that_is_given_is_read_without_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_readings, "parse", lambda sentences: pytest.fail(f"asked for {sentences}"))
    reader = Reader(VOCABULARY, longest=10)
    reader.remember("seen", SEES)
    assert reader.read(["seen"])[0].spans.tolist() == [[0, 2], [3, 7], [3, 5]]
