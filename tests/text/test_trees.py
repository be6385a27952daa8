"""Sentences to trees: the whole way, with a stand-in for the parser where its answer does not matter."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.data.entities import parse_sentence
from seesay.text import trees
from seesay.text._dependencies import Dependencies
from seesay.text.tokens import token_spans, tokenize
from seesay.text.trees import MAX_PIECES, Tree, noun_phrases, parse


class Parser:
    """Takes every word for a noun of its own and remembers what it was given."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.seen: list[list[str]] = []
        self.stop_after = stop_after

    def __call__(self, sentences: Iterable[Sequence[str]]) -> Iterator[Dependencies]:
        for words in sentences:
            if len(self.seen) == self.stop_after:
                raise KeyboardInterrupt
            self.seen.append(list(words))
            n_words = len(words)
            yield Dependencies(tuple(range(n_words)), ("NN",) * n_words, ("ROOT",) * n_words)


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> Parser:
    stand_in = Parser()
    monkeypatch.setattr(trees, "parse_dependencies", stand_in)
    return stand_in


def test_trees_come_in_the_order_of_the_sentences(parser: Parser, tmp_path: Path) -> None:
    found = parse(["a dog", "", "a cat", "a dog"], tmp_path)
    assert list(map(str, found)) == ["(S (NP a) (NP dog))", "(S)", "(S (NP a) (NP cat))", "(S (NP a) (NP dog))"]


def test_no_sentences_give_no_trees(parser: Parser, tmp_path: Path) -> None:
    assert parse([], tmp_path) == []


@pytest.mark.parametrize("sentence", ["", "  ", "...", "🐶🎉", "?!"])
def test_a_sentence_without_tokens_is_a_root_without_children(parser: Parser, tmp_path: Path, sentence: str) -> None:
    assert parse([sentence], tmp_path) == [Tree("S", 0, 0)]
    assert parser.seen == []


def test_equal_sentences_are_parsed_once(parser: Parser, tmp_path: Path) -> None:
    parse(["A dog.", "a dog", "a DOG !", "a cat"], tmp_path)
    assert parser.seen == [["a", "dog"], ["a", "cat"]]


def test_a_second_call_does_not_start_the_parser(parser: Parser, tmp_path: Path) -> None:
    first = parse(["a dog", "a cat"], tmp_path)
    parser.seen.clear()
    assert parse(["a cat", "a dog"], tmp_path) == first[::-1]
    assert parser.seen == []


def test_parses_are_kept_in_the_cache_folder_where_none_is_given(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path))
    parse(["a dog"])
    assert (tmp_path / "parses" / "dependencies.sqlite3").is_file()


def test_an_interrupted_call_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sentences = [f"dog {number}" for number in range(2_000)]
    monkeypatch.setattr(trees, "parse_dependencies", Parser(stop_after=1_500))
    with pytest.raises(KeyboardInterrupt):
        parse(sentences, tmp_path)
    again = Parser()
    monkeypatch.setattr(trees, "parse_dependencies", again)
    assert [tree.words for tree in parse(sentences, tmp_path)] == [["dog", str(number)] for number in range(2_000)]
    assert len(again.seen) == 2_000 - 1_024


def test_progress_counts_distinct_sentences(parser: Parser, tmp_path: Path) -> None:
    parse(["a dog"], tmp_path)
    calls: list[tuple[int, int]] = []
    parse(
        ["a dog", "a cat", "a dog", "", "a cow"], tmp_path, on_progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(1, 3), (3, 3)]


@pytest.mark.parametrize(
    ("sentence", "pieces"),
    [
        ("A man, a woman and a child.", ["a", "man", ",", "a", "woman", "and", "a", "child"]),
        ("A dog. It runs; fast!", ["a", "dog", ".", "it", "runs", ".", "fast"]),
        ("a dog (brown) runs", ["a", "dog", "brown", ",", "runs"]),
        ("...a dog , , runs , .", ["a", "dog", ",", "runs"]),
        ("3.5 km, 1,000 men", ["3.5", "km", ",", "1,000", "men"]),
        ("U.S. flags", ["u", "s", ".", "flags"]),
    ],
)
def test_the_parser_sees_the_marks_between_words(
    parser: Parser, tmp_path: Path, sentence: str, pieces: list[str]
) -> None:
    (tree,) = parse([sentence], tmp_path)
    assert parser.seen == [pieces]
    assert tree.words == tokenize(sentence)


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_a_sentence_has_the_same_tokens_with_and_without_its_marks(sentence: str) -> None:
    pieces = [piece for part in trees._split(sentence) for piece in part]
    assert [piece for piece in pieces if piece not in (",", ".")] == tokenize(sentence)


def test_a_very_long_sentence_is_parsed_in_pieces(parser: Parser, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(10 * MAX_PIECES + 1)]
    (tree,) = parse([" ".join(words)], tmp_path)
    assert max(map(len, parser.seen)) == MAX_PIECES
    assert tree.words == words
    assert [child.span for child in tree.children][:2] == [(0, MAX_PIECES), (MAX_PIECES, 2 * MAX_PIECES)]
    assert len(tree.children) == 11


REAL = {
    "A man in a red shirt walks two dogs.": "(S (NP (NP a man) (PP in (NP a red shirt))) (VP walks (NP two dogs)))",
    "Two dogs play in front of a house": "(S (NP two dogs) (VP play (PP in front of (NP a house))))",
    "A black-and-white dog": "(S (NP a (ADJP black and white) dog))",
    "The man's dog jumps over a log and catches a ball": (
        "(S (NP (NP the man 's) dog) (VP (VP jumps (PP over (NP a log))) and (VP catches (NP a ball))))"
    ),
    "a dog leaps into the pool": "(S (NP a dog) (VP leaps (PP into (NP the pool))))",
    "dog": "(S (NP dog))",
    "": "(S)",
}


def test_real_sentences_give_the_trees_that_a_person_would_draw(tmp_path: Path) -> None:
    assert dict(zip(REAL, map(str, parse(REAL, tmp_path)), strict=True)) == REAL


ODD = [
    "🐶 dog 🎉",
    "kaksi koiraa juoksee lumessa",
    "две собаки",
    "两只狗在雪地里玩",
    "qwxz zzkrt",
    "of " * 300,
    "''s n't",
]


def test_odd_sentences_have_every_token_in_one_leaf(tmp_path: Path) -> None:
    for sentence, tree in zip(ODD, parse(ODD, tmp_path), strict=True):
        assert tree.words == tokenize(sentence)
        assert Tree.from_json(tree.to_json()) == tree


def test_noun_phrases_of_flickr8k_dev_agree_with_those_that_people_marked(shared_data: Path, tmp_path: Path) -> None:
    photos = (shared_data / "flickr8k" / "Flickr8k_text" / "Flickr_8k.devImages.txt").read_text().split()[:60]
    files = [shared_data / "flickr30k_entities" / "Sentences" / f"{photo.split('_')[0]}.txt" for photo in photos]
    captions = [parse_sentence(line) for file in files for line in file.read_text().splitlines()]
    found = [set(noun_phrases(tree)) for tree in parse([sentence for sentence, _ in captions], tmp_path)]
    marked = []
    for sentence, phrases in captions:
        places = token_spans(sentence.split())
        marked.append({(places[phrase.first][0], places[phrase.last - 1][1]) for phrase in phrases})
    n_common = sum(len(one & other) for one, other in zip(found, marked, strict=True))
    f1 = 2 * n_common / (sum(map(len, found)) + sum(map(len, marked)))
    assert f1 > 0.94
