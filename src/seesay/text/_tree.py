"""The constituency tree of a sentence, as a value."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seesay.errors import SeesayError

LEAF = "leaf"
# Penn Treebank names. NML: words that modify a noun together ("fast food" in "fast food joint"). QP: a number of more
# than one word. UCP: unlike phrases joined by "and". X: none of these.
LABELS = ("S", "SBAR", "NP", "VP", "PP", "ADJP", "ADVP", "NML", "QP", "UCP", "X")


@dataclass(frozen=True, slots=True)
class Tree:
    """A node of a constituency tree, and with it everything below.

    Attributes:
        label: One of `LABELS`, or "leaf" for a word.
        first, last: The half-open span of the sentence's tokens that the node covers.
        children: The nodes below, in the order of the sentence. Only a leaf and the empty sentence have none.
        word: The token of a leaf; empty elsewhere.

    Example:
        >>> tree = Tree.from_json('["S", ["NP", "a", "dog"], ["VP", "runs"]]')
        >>> print(tree)
        (S (NP a dog) (VP runs))
        >>> [(node.label, node.span) for node in tree.nodes()]
        [('S', (0, 3)), ('NP', (0, 2)), ('leaf', (0, 1)), ('leaf', (1, 2)), ('VP', (2, 3)), ('leaf', (2, 3))]
    """

    label: str
    first: int
    last: int
    children: tuple["Tree", ...] = ()
    word: str = ""

    @classmethod
    def leaf(cls, position: int, word: str) -> "Tree":
        return cls(LEAF, position, position + 1, (), word)

    @classmethod
    def join(cls, label: str, children: Sequence["Tree"]) -> "Tree":
        """A node over neighbouring nodes."""
        return cls(label, children[0].first, children[-1].last, tuple(children))

    @property
    def span(self) -> tuple[int, int]:
        return self.first, self.last

    @property
    def is_leaf(self) -> bool:
        return self.label == LEAF

    @property
    def is_noun_phrase(self) -> bool:
        return self.label == "NP"

    @property
    def words(self) -> list[str]:
        """The tokens that the node covers."""
        return [node.word for node in self.nodes() if node.label == LEAF]

    def nodes(self) -> Iterator["Tree"]:
        """This node and all below it, parents before children and left before right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def __str__(self) -> str:
        return self.word if self.is_leaf else f"({' '.join([self.label, *map(str, self.children)])})"

    def to_json(self) -> str:
        """Nested lists of a label and its children; a leaf is its word. Spans follow from the order of the words."""
        return json.dumps(self._nested(), ensure_ascii=False)

    def _nested(self) -> Any:
        return self.word if self.is_leaf else [self.label, *(child._nested() for child in self.children)]

    @classmethod
    def from_json(cls, text: str) -> "Tree":
        """Read what `to_json` wrote.

        Raises:
            SeesayError: The text is not JSON or not such nested lists.
        """
        try:
            return _from_nested(json.loads(text), 0, is_root=True)
        except (ValueError, RecursionError) as error:
            raise SeesayError(
                f"not a tree: {error}", allowed='nested lists such as ["S", ["NP", "a", "dog"], ["VP", "runs"]]'
            ) from error


def noun_phrases(tree: Tree) -> list[tuple[int, int]]:
    """The spans of the phrases that name one thing, as Flickr30k Entities marks them; none overlaps another.

    These are the noun phrases without what follows the noun ("a man" of "a man in a red shirt"), except for an "of":
    "a group of people" is one phrase.

    Example:
        >>> tree = Tree.from_json('["S", ["NP", ["NP", "a", "man"], ["PP", "in", ["NP", "a", "red", "shirt"]]]]')
        >>> noun_phrases(tree)
        [(0, 2), (3, 6)]
    """
    spans = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if _names_one_thing(node):
            spans.append(node.span)
        else:
            waiting.extend(reversed(node.children))
    return spans


def _names_one_thing(node: Tree) -> bool:
    if not node.is_noun_phrase:
        return False
    *others, last = node.children
    if len(others) == 1 and last.label == "PP" and str(last.children[0]) == "of":
        return _names_one_thing(others[0]) and all(map(_names_things, last.children[1:]))
    phrases = [child for child in node.children if child.label in ("NP", "VP", "PP", "S", "SBAR")]
    return all(child.is_noun_phrase and _is_possessor(child) for child in phrases)


def _names_things(node: Tree) -> bool:
    """One thing, or several that "and" joins."""
    if node.is_leaf or _names_one_thing(node):
        return True
    return node.is_noun_phrase and all(child.is_leaf or _names_one_thing(child) for child in node.children)


def _is_possessor(node: Tree) -> bool:
    return node.children[-1].word in ("'s", "'")


def _from_nested(nested: Any, first: int, *, is_root: bool = False) -> Tree:
    if isinstance(nested, str) and nested and not is_root:
        return Tree.leaf(first, nested)
    if not isinstance(nested, list) or not nested or nested[0] not in LABELS:
        raise ValueError(f"{json.dumps(nested)[:60]} is neither a word nor a list that begins with {', '.join(LABELS)}")
    children: list[Tree] = []
    last = first
    for part in nested[1:]:
        children.append(_from_nested(part, last))
        last = children[-1].last
    if not children and not is_root:
        raise ValueError(f"a {nested[0]} has no words")
    return Tree(nested[0], first, last, tuple(children))
