"""Sentences as a tree model reads them: the shape of the tree, the numbers of its words, where its noun phrases are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seesay.text.tokens import tokenize
from seesay.text.trees import Tree, parse
from seesay.text.vocabulary import UNKNOWN, Vocabulary

Indices = NDArray[np.int64]
NOUN, OTHER, ROOT = range(3)


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """A tree without its words; nodes stand in the order of `Tree.nodes`, parents before children.

    Attributes:
        parent: (n_nodes,) the node above each, -1 for the root.
        height: (n_nodes,) the longest way down to a leaf, 0 for leaves.
        kind: (n_nodes,) NOUN for a noun phrase, ROOT for the root whatever it is, OTHER for all others.
    """

    parent: Indices
    height: Indices
    kind: Indices

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def n_leaves(self) -> int:
        return int((self.height == 0).sum())

    @classmethod
    def of(cls, tree: Tree) -> "Shape":
        """The shape of a constituency tree.

        Example:
            >>> shape = Shape.of(Tree.from_json('["S", ["NP", "a", "dog"], "runs"]'))
            >>> shape.parent.tolist(), shape.height.tolist()
            ([-1, 0, 1, 1, 0], [2, 1, 0, 0, 0])
        """
        above: list[int] = []
        nodes: list[Tree] = []
        waiting = [(tree, -1)]
        while waiting:
            node, parent_place = waiting.pop()
            waiting.extend((child, len(nodes)) for child in reversed(node.children))
            nodes.append(node)
            above.append(parent_place)
        parent = np.array(above, np.int64)
        height = np.zeros(len(nodes), np.int64)
        for number in range(len(nodes) - 1, 0, -1):  # children come after their parents
            height[parent[number]] = max(height[parent[number]], height[number] + 1)
        kind = np.array([NOUN if node.is_noun_phrase else OTHER for node in nodes], np.int64)
        kind[0] = ROOT
        return cls(parent, height, kind)


def join_shapes(shapes: Sequence[Shape]) -> tuple[Indices, Indices, Indices]:
    """Parent, height and kind of the nodes of all trees, one tree after the other; parents are counted over all."""
    sizes = np.array([len(shape) for shape in shapes], np.int64)
    firsts = np.cumsum(sizes) - sizes
    own, height, kind = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(shape, name) for shape in shapes)])
        for name in ("parent", "height", "kind")
    )
    return np.where(own < 0, -1, own + np.repeat(firsts, sizes)), height, kind


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A sentence that has been read.

    Attributes:
        shape: Of its tree.
        words: (n_leaves,) the number of each word.
        nouns: (n_phrases,) which of the nodes are noun phrases, nested ones included.
        spans: (n_phrases, 2) their half-open spans of tokens.
        keys: (n_phrases,) equal for phrases of the same words.
        sizes: (n_nodes,) how many nodes each one stands for, itself and all below.
        innermost: (n_leaves,) which noun phrase each word is part of, the smallest one; -1 for none.
    """

    shape: Shape
    words: Indices
    nouns: Indices
    spans: Indices
    keys: Indices
    sizes: Indices
    innermost: Indices

    @classmethod
    def of(cls, tree: Tree, vocabulary: Vocabulary) -> "Reading":
        """Read a tree; a sentence without words is one unknown word.

        Example:
            >>> vocabulary = Vocabulary.build(["a dog sees a cat"], min_count=1)
            >>> reading = Reading.of(parse(["A dog sees a cat."])[0], vocabulary)
            >>> reading.spans.tolist(), reading.words.tolist()
            ([[0, 2], [3, 5]], [4, 6, 7, 4, 5])
        """
        if not tree.children:
            tree = Tree.leaf(0, "")
        numbers = vocabulary.encode(tree.words) if tree.last else [UNKNOWN]
        phrases = [(place, node.span) for place, node in enumerate(tree.nodes()) if node.is_noun_phrase and place]
        shape = Shape.of(tree)
        sizes = np.ones(len(shape), np.int64)
        for place in range(len(shape) - 1, 0, -1):  # children come after their parents
            sizes[shape.parent[place]] += sizes[place]
        innermost = np.full(len(numbers), -1, np.int64)
        for number, (_, (first, last)) in enumerate(phrases):  # outer phrases come first
            innermost[first:last] = number
        # Hashes of whole numbers, unlike those of text, are the same in every process.
        keys = [hash(tuple(numbers[first:last])) for _, (first, last) in phrases]
        return cls(
            shape,
            np.array(numbers, np.int64),
            np.array([place for place, _ in phrases], np.int64),
            np.array([span for _, span in phrases], np.int64).reshape(-1, 2),
            np.array(keys, np.int64),
            sizes,
            innermost,
        )

    @property
    def shares(self) -> NDArray[np.float32]:
        """(n_phrases,) what each noun phrase says of the sentence: all as much, those without a word of their own none.

        Example:
            >>> vocabulary = Vocabulary.build(["a dog sees a cat"], min_count=1)
            >>> Reading.of(parse(["A dog sees a cat."])[0], vocabulary).shares.tolist()
            [0.5, 0.5]
        """
        speaks = np.bincount(self.innermost[self.innermost >= 0], minlength=len(self.nouns)) > 0
        shares: NDArray[np.float32] = (speaks / max(1, speaks.sum())).astype(np.float32)
        return shares


class Reader:
    """Reads sentences and remembers them: a training set is parsed once.

    Args:
        longest: Words of a sentence that are read.
        n_remembered: Sentences after which everything is forgotten, for programs that never end.
    """

    def __init__(self, vocabulary: Vocabulary, longest: int, n_remembered: int = 1 << 19) -> None:
        self._vocabulary = vocabulary
        self._longest = longest
        self._n_remembered = n_remembered
        self._readings: dict[str, Reading] = {}

    def read(self, sentences: Sequence[str]) -> list[Reading]:
        """What each sentence is to the model."""
        absent = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._readings]
        if absent:
            if len(self._readings) + len(absent) > self._n_remembered:
                self._readings.clear()
                absent = list(dict.fromkeys(sentences))
            for sentence, tree in zip(absent, parse([self._cut(sentence) for sentence in absent]), strict=True):
                self._readings[sentence] = Reading.of(tree, self._vocabulary)
        return [self._readings[sentence] for sentence in sentences]

    def remember(self, sentence: str, tree: Tree) -> None:
        """Read a sentence whose tree is known: the parser is never asked for it."""
        self._readings[sentence] = Reading.of(tree, self._vocabulary)

    def _cut(self, sentence: str) -> str:
        if len(sentence) <= self._longest:  # a token has one letter or more
            return sentence
        tokens = tokenize(sentence)
        return sentence if len(tokens) <= self._longest else " ".join(tokens[: self._longest])


def phrase_nodes(readings: Sequence[Reading]) -> tuple[Indices, Indices]:
    """Where the noun phrases of sentences are among the nodes of all trees, and the sentence of each: (P,) both."""
    sizes = np.array([len(reading.shape) for reading in readings], np.int64)
    counts = np.array([len(reading.nouns) for reading in readings], np.int64)
    owner = np.repeat(np.arange(len(readings)), counts)
    nouns = np.concatenate([reading.nouns for reading in readings]) if len(readings) else counts
    return nouns + (np.cumsum(sizes) - sizes)[owner], owner
