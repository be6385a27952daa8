"""Sentences to dependency edges, with a stand-in for the parser where its answer does not matter."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from seesay.text import trees
from seesay.text._dependencies import Dependencies
from seesay.text.edges import RELATIONS, Edge, parse_edges
from seesay.text.tokens import tokenize


def chain(sentences: Iterable[Sequence[str]]) -> Iterator[Dependencies]:
    """Every token hangs on the next one, marks too; relations are foreign."""
    for words in sentences:
        n = len(words)
        heads = tuple(min(place + 1, n - 1) for place in range(n))
        yield Dependencies(heads, ("NN",) * n, ("det",) * (n - 1) + ("zaubern",))


@pytest.fixture
def made_up_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "parse_dependencies", chain)


@pytest.mark.usefixtures("made_up_parser")
class TestEdges:
    def test_every_token_has_one_edge_in_order(self, tmp_path: Path) -> None:
        sentences = ["a dog, a cat.", "dog", "", "word " * 450]
        for sentence, edges in zip(sentences, parse_edges(sentences, tmp_path), strict=True):
            assert [edge.token for edge in edges] == list(range(len(tokenize(sentence))))

    def test_a_head_that_is_a_comma_gives_way_to_its_own_head(self, tmp_path: Path) -> None:
        (edges,) = parse_edges(["a dog, a cat"], tmp_path)
        assert [edge.head for edge in edges] == [1, 2, 3, 3]

    def test_a_relation_that_nobody_knows_counts_as_any(self, tmp_path: Path) -> None:
        assert parse_edges(["dog runs"], tmp_path) == [[Edge(1, 0, "det"), Edge(1, 1, RELATIONS[0])]]

    def test_the_pieces_of_a_long_sentence_have_roots_of_their_own(self, tmp_path: Path) -> None:
        (edges,) = parse_edges(["word " * 450], tmp_path)
        assert [edge.token for edge in edges if edge.head == edge.token] == [199, 399, 449]


def test_captions_have_the_edges_that_people_would_draw(tmp_path: Path) -> None:
    (edges,) = parse_edges(["A man in a red shirt walks two dogs."], tmp_path)
    words = tokenize("A man in a red shirt walks two dogs.")
    found = {(words[edge.head], edge.relation, words[edge.token]) for edge in edges}
    assert found == {
        ("man", "det", "a"), ("walks", "nsubj", "man"), ("man", "prep", "in"), ("shirt", "det", "a"),
        ("shirt", "amod", "red"), ("in", "pobj", "shirt"), ("walks", "ROOT", "walks"), ("dogs", "nummod", "two"),
        ("walks", "dobj", "dogs"),
    }  # fmt: skip
