"""Phrases from heads and relations, by hand-written parses and by arbitrary ones."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seesay.text._constituents import MAX_DEPTH, build_tree
from seesay.text._dependencies import Dependencies
from seesay.text._repairs import free_verbs
from seesay.text.trees import LABELS, LEAF, Tree


def tree_of(parse: str) -> str:
    """The tree of a parse written as `word/TAG/head/relation`, heads counted from 0."""
    tokens = [token.split("/") for token in parse.split()]
    words, tags, heads, relations = zip(*tokens, strict=True)
    return str(build_tree(words, Dependencies(tuple(map(int, heads)), tags, relations)))


@pytest.mark.parametrize(
    ("parse", "expected"),
    [
        pytest.param("dog/NN/0/ROOT", "(S (NP dog))", id="one noun"),
        pytest.param("run/VB/0/ROOT", "(S (VP run))", id="one verb"),
        pytest.param("quickly/RB/0/ROOT", "(S quickly)", id="one other word"),
        pytest.param(
            "a/DT/1/det man/NN/1/ROOT in/IN/1/prep a/DT/5/det red/JJ/5/amod shirt/NN/2/pobj",
            "(S (NP (NP a man) (PP in (NP a red shirt))))",
            id="a noun is a phrase without what follows it",
        ),
        pytest.param(
            "a/DT/1/det dog/NN/2/nsubj runs/VBZ/2/ROOT",
            "(S (NP a dog) (VP runs))",
            id="subject and predicate",
        ),
        pytest.param(
            "men/NNS/0/ROOT women/NNS/0/conj and/CC/1/cc children/NNS/1/conj",
            "(S (NP (NP men) (NP women) and (NP children)))",
            id="a list is flat",
        ),
        pytest.param(
            "a/DT/4/det black/JJ/4/amod and/CC/1/cc white/JJ/1/conj dog/NN/4/ROOT",
            "(S (NP a (ADJP black and white) dog))",
            id="joined adjectives",
        ),
        pytest.param(
            "a/DT/4/det wood/NN/4/compound and/CC/1/cc wire/NN/1/conj bridge/NN/4/ROOT",
            "(S (NP a (NML wood and wire) bridge))",
            id="joined modifiers name nothing",
        ),
        pytest.param(
            "men/NNS/1/nsubj sit/VBP/1/ROOT and/CC/1/cc read/VBP/1/conj",
            "(S (NP men) (VP (VP sit) and (VP read)))",
            id="one subject of two verbs",
        ),
        pytest.param(
            "men/NNS/1/nsubj sit/VBP/1/ROOT and/CC/1/cc dogs/NNS/4/nsubj run/VBP/1/conj",
            "(S (S (NP men) (VP sit)) and (S (NP dogs) (VP run)))",
            id="two clauses",
        ),
        pytest.param(
            "men/NNS/1/nsubj sit/VBP/1/ROOT while/IN/4/mark dogs/NNS/4/nsubj run/VBP/1/advcl",
            "(S (NP men) (VP sit (SBAR while (S (NP dogs) (VP run)))))",
            id="subordinate clause",
        ),
        pytest.param(
            "a/DT/1/det group/NN/1/ROOT of/IN/1/prep men/NNS/2/pobj in/IN/3/prep suits/NNS/4/pobj",
            "(S (NP (NP (NP a group) (PP of (NP men))) (PP in (NP suits))))",
            id="of binds closer than what the parser hung below it",
        ),
        pytest.param(
            "men/NNS/0/ROOT in/IN/0/prep front/NN/1/pobj of/IN/2/prep houses/NNS/3/pobj",
            "(S (NP (NP men) (PP in front of (NP houses))))",
            id="in front of is a preposition",
        ),
        pytest.param(
            "the/DT/1/det man/NN/3/poss 's/POS/1/case dog/NN/3/ROOT",
            "(S (NP (NP the man 's) dog))",
            id="possessor",
        ),
        pytest.param(
            "men/NNS/0/ROOT in/IN/0/prep red/JJ/1/amod and/CC/2/cc black/JJ/2/conj",
            "(S (NP (NP men) (PP in (NP red and black))))",
            id="a colour after a preposition is worn",
        ),
        pytest.param(
            "men/NNS/2/nsubj are/VBP/2/aux running/VBG/2/ROOT",
            "(S (NP men) (VP are running))",
            id="auxiliaries are words of the verb phrase",
        ),
        pytest.param("dogs/NNS/0/ROOT cats/NNS/1/ROOT", "(S (NP dogs) (NP cats))", id="two roots"),
        pytest.param(
            "men/NNS/1/nsubj saw/VBD/1/ROOT dogs/NNS/1/dobj today/NN/1/npadvmod barking/VBG/2/acl",
            "(S (NP men) (VP saw (NP dogs) (NP today) (VP barking)))",
            id="a crossing arc is lifted",
        ),
    ],
)
def test_phrases_follow_the_penn_treebank(parse: str, expected: str) -> None:
    assert tree_of(parse) == expected


def check(tree: Tree, words: list[str]) -> None:
    """Everything that a tree promises."""
    assert tree.label == "S"
    assert tree.words == words
    depth = {id(tree): 1}
    for node in tree.nodes():
        assert node.label in (*LABELS, LEAF)
        assert depth[id(node)] <= MAX_DEPTH + 1  # the leaves
        if node.is_leaf:
            assert node.last == node.first + 1
        else:
            borders = [node.first, *(child.last for child in node.children)]
            assert borders == [*(child.first for child in node.children), node.last]
        depth |= {id(child): depth[id(node)] + 1 for child in node.children}
    assert Tree.from_json(tree.to_json()) == tree


TAGS = ["NN", "NNS", "PRP", "VBZ", "VBG", "JJ", "RB", "CD", "IN", "TO", "DT", "CC", "POS", "XX"]
RELATIONS = ["ROOT", "nsubj", "dobj", "pobj", "prep", "det", "amod", "compound", "nummod", "poss", "case"]
RELATIONS += ["conj", "cc", "mark", "advcl", "acl", "aux", "advmod", "expl", "appos"]


@st.composite
def parses(draw: st.DrawFn) -> tuple[list[str], Dependencies]:
    n_tokens = draw(st.integers(1, 14))
    order = draw(st.permutations(range(n_tokens)))
    heads = [0] * n_tokens
    for place, token in enumerate(order):
        heads[token] = draw(st.sampled_from(order[: place + 1]))
    words = draw(st.lists(st.sampled_from(["a", "of", "front", "dog", "'s"]), min_size=n_tokens, max_size=n_tokens))
    tags = draw(st.lists(st.sampled_from(TAGS), min_size=n_tokens, max_size=n_tokens))
    relations = draw(st.lists(st.sampled_from(RELATIONS), min_size=n_tokens, max_size=n_tokens))
    return words, Dependencies(tuple(heads), tuple(tags), tuple(relations))


@given(parses())
def test_any_parse_gives_a_tree_with_every_word_in_one_leaf_in_order(parsed: tuple[list[str], Dependencies]) -> None:
    words, parse = parsed
    check(build_tree(words, parse), words)


@given(parses())
def test_repairs_leave_a_parse_that_gives_a_tree(parsed: tuple[list[str], Dependencies]) -> None:
    words, parse = parsed
    repaired = free_verbs(words, parse)
    assert Dependencies.from_json(repaired.to_json(), len(words)) == repaired
    check(build_tree(words, repaired), words)


@pytest.mark.parametrize("relation", ["prep", "pobj", "conj", "acl", "nsubj", "amod"])
@pytest.mark.parametrize("tag", ["NN", "VBG", "IN", "JJ"])
@pytest.mark.parametrize("step", [-1, 1])
def test_a_chain_of_heads_as_long_as_the_sentence_stays_shallow(relation: str, tag: str, step: int) -> None:
    heads = [min(max(place + step, 0), 199) for place in range(200)]
    words = ["of"] * 200
    check(build_tree(words, Dependencies(tuple(heads), (tag,) * 200, (relation,) * 200)), words)


@example(3)
@given(st.integers(0, 1000))
def test_a_tree_may_begin_later_in_the_sentence(first: int) -> None:
    parse = Dependencies((1, 1), ("DT", "NN"), ("det", "ROOT"))
    assert build_tree(["a", "dog"], parse, first).span == (first, first + 2)
