"""The tree as a value: spans, JSON, and which of its phrases name one thing."""

import pytest

from seesay.errors import SeesayError
from seesay.text.trees import Tree, noun_phrases

MAN = '["S", ["NP", ["NP", "a", "man"], ["PP", "in", ["NP", "red"]]], ["VP", "runs"]]'


def test_spans_follow_from_the_order_of_the_words() -> None:
    tree = Tree.from_json(MAN)
    assert [(node.label, node.span) for node in tree.nodes() if not node.is_leaf] == [
        ("S", (0, 5)),
        ("NP", (0, 4)),
        ("NP", (0, 2)),
        ("PP", (2, 4)),
        ("NP", (3, 4)),
        ("VP", (4, 5)),
    ]
    assert tree.words == ["a", "man", "in", "red", "runs"]
    assert tree.children[0].children[1].words == ["in", "red"]


def test_json_and_brackets_show_the_same_tree() -> None:
    tree = Tree.from_json(MAN)
    assert tree.to_json() == MAN
    assert str(tree) == "(S (NP (NP a man) (PP in (NP red))) (VP runs))"


def test_the_empty_sentence_is_a_root_without_children() -> None:
    tree = Tree.from_json('["S"]')
    assert (tree.span, tree.children, tree.words, noun_phrases(tree)) == ((0, 0), (), [], [])
    assert Tree.from_json(tree.to_json()) == tree


def test_only_noun_phrases_are_marked_as_such() -> None:
    assert [node.label for node in Tree.from_json(MAN).nodes() if node.is_noun_phrase] == ["NP", "NP", "NP"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ('"dog"', "neither a word nor a list"),
        ("[]", "neither a word nor a list"),
        ('["DP", "a", "dog"]', "begins with S, SBAR, NP"),
        ('["S", ["NP"]]', "a NP has no words"),
        ('["S", 7]', "7 is neither"),
        ('["S", ""]', "neither a word"),
        ('["S", [["NP"], "a"]]', "neither a word"),
        ('["S", ' * 5_000, "not a tree"),
    ],
)
def test_malformed_json_is_refused_with_an_example(text: str, reason: str) -> None:
    with pytest.raises(SeesayError, match=f'(?s){reason}.*allowed: nested lists such as \\["S"'):
        Tree.from_json(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["S", ["NP", "dog"]]', ["dog"]),
        ('["S", "running"]', []),
        (MAN, ["a man", "red"]),
        ('["S", ["NP", ["NP", "a", "man", "\'s"], "dog"]]', ["a man 's dog"]),
        ('["S", ["NP", "a", ["ADJP", "black", "and", "white"], "dog"]]', ["a black and white dog"]),
        ('["S", ["NP", ["NP", "a", "man"], "and", ["NP", "a", "dog"]]]', ["a man", "a dog"]),
        ('["S", ["NP", ["NP", "a", "group"], ["PP", "of", ["NP", "people"]]]]', ["a group of people"]),
        (
            '["S", ["NP", ["NP", "a", "group"], ["PP", "of", ["NP", ["NP", "men"], "and", ["NP", "women"]]]]]',
            ["a group of men and women"],
        ),
        (
            '["S", ["NP", ["NP", "one"], ["PP", "of", ["NP", ["NP", "them"], ["VP", "eating", ["NP", "ice"]]]]]]',
            ["one", "them", "ice"],
        ),
    ],
)
def test_noun_phrases_are_those_that_name_one_thing(text: str, expected: list[str]) -> None:
    tree = Tree.from_json(text)
    assert [" ".join(tree.words[first:last]) for first, last in noun_phrases(tree)] == expected
