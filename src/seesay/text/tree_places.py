"""Which rows a model that reads trees takes its vectors from: of nodes, of words, of phrases that stand alone.

Nothing is computed with vectors here. Both engines ask for these places, and gather by them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seesay.text.readings import NOUN, Indices, Reading, join_shapes
from seesay.text.vocabulary import END


@dataclass(frozen=True, slots=True)
class Levels:
    """In which order the nodes of many trees are computed, for a graph that is given one height after the other.

    Attributes:
        words: (n_leaves,) the number of each word: the rows of leaves come first.
        children: For each height from 1 on (n, C) the rows of each node's children, counted from 1; 0 is none.
        nouns: For each height (n,) which of the nodes are noun phrases.
        rows: (n_nodes,) the row of every node, tree after tree.
    """

    words: Indices
    children: tuple[Indices, ...]
    nouns: tuple[NDArray[np.bool_], ...]
    rows: Indices

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> "Levels":
        """Order the nodes of sentences.

        Example:
            >>> from seesay.text.trees import Tree
            >>> from seesay.text.vocabulary import Vocabulary
            >>> vocabulary = Vocabulary.build(["a dog runs"], min_count=1)
            >>> levels = Levels.of([Reading.of(Tree.from_json('["S", ["NP", "a", "dog"], "runs"]'), vocabulary)])
            >>> [rows.tolist() for rows in levels.children], [nouns.tolist() for nouns in levels.nouns]
            ([[[1, 2]], [[4, 3]]], [[True], [False]])
        """
        parent, height, kind = join_shapes([reading.shape for reading in readings])
        order = np.argsort(height, kind="stable")
        rows = np.empty(len(order), np.int64)
        rows[order] = np.arange(len(order))
        children: dict[int, list[int]] = {}
        for node in np.flatnonzero(parent >= 0).tolist():
            children.setdefault(int(parent[node]), []).append(int(rows[node]) + 1)
        levels, nouns = [], []
        for tall in range(1, int(height.max(initial=0)) + 1):
            nodes = order[height[order] == tall].tolist()
            padded = np.zeros((len(nodes), max(len(children[node]) for node in nodes)), np.int64)
            for place, node in enumerate(nodes):
                padded[place, : len(children[node])] = children[node]
            levels.append(padded)
            nouns.append(kind[nodes] == NOUN)
        return cls(np.concatenate([reading.words for reading in readings]), tuple(levels), tuple(nouns), rows)


def node_runs(readings: Sequence[Reading], nodes: Indices, *, whole: bool) -> tuple[Indices, Indices]:
    """Which nodes stand for each sentence, and then for each of some nodes: all below it, or where not `whole`, itself.

    Returns:
        The nodes of all runs, one run after the other, and the length of each run.
    """
    sizes = np.concatenate([reading.sizes for reading in readings])  # (n_nodes,)
    lengths = np.array([len(reading.shape) for reading in readings])
    first = np.concatenate([np.cumsum(lengths) - lengths, nodes])  # a subtree is a run of nodes
    own = sizes[first] if whole else np.ones_like(first)
    return np.arange(own.sum()) - np.repeat(np.cumsum(own) - own - first, own), own


@dataclass(frozen=True, slots=True)
class WordPlaces:
    """Which vector stands for each word of sentences, and for the sentence behind its last word.

    Attributes:
        source: (n, T) a place among the vectors of the sentences, followed by those of their noun phrases.
        weights: (n, T) what it is multiplied by; 0 for a word that says nothing, and behind the end.
        words: (n, T) the numbers of the words.
        lengths: (n,) how many places count.
    """

    source: Indices
    weights: NDArray[np.float32]
    words: Indices
    lengths: Indices


def word_places(readings: Sequence[Reading]) -> WordPlaces:
    """A word speaks for the smallest noun phrase that it is part of, whose share its words divide between them; one
    outside of all says nothing about any region. A sentence that names nothing is a phrase itself."""
    lengths = np.array([len(reading.words) for reading in readings], np.int64)
    shape = len(readings), int(lengths.max(initial=0)) + 1
    found = WordPlaces(np.zeros(shape, np.int64), np.zeros(shape, np.float32), np.zeros(shape, np.int64), lengths + 1)
    start = len(readings)
    for row, reading in enumerate(readings):
        n, n_phrases = len(reading.words), len(reading.nouns)
        found.source[row], found.weights[row, n] = row, 1.0
        if n_phrases:
            inside = np.flatnonzero(reading.innermost >= 0)
            own = reading.innermost[inside]
            found.source[row, inside] = start + own
            found.weights[row, inside] = (reading.shares / np.bincount(own, minlength=n_phrases).clip(1))[own]
        else:
            found.weights[row, :n] = 1.0 / n
        found.words[row, :n], found.words[row, n] = reading.words, END
        start += n_phrases
    return found


def phrase_places(readings: Sequence[Reading]) -> Indices:
    """Which vector stands for each text read as a phrase: the outermost noun phrase that covers it, or the sentence.

    Returns:
        (n,) places as in `WordPlaces.source`.
    """
    found = np.arange(len(readings))
    start = len(readings)
    for row, reading in enumerate(readings):
        covers = np.flatnonzero((reading.spans == [0, len(reading.words)]).all(axis=1))
        if len(covers):
            found[row] = start + covers[0]
        start += len(reading.nouns)
    return found
