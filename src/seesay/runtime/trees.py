"""Sentences as trees, read by graphs: one call for the leaves, one for each height of nodes, one for all phrases."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from seesay.images.arrays import Floats
from seesay.runtime.folder import GraphFolder
from seesay.runtime.protocol import Texts
from seesay.text.readings import Reader, Reading, phrase_nodes
from seesay.text.tokens import LONGEST
from seesay.text.tree_places import Levels, node_runs, phrase_places, word_places

if TYPE_CHECKING:
    from seesay.text.trees import Tree
    from seesay.text.vocabulary import Vocabulary

GRAPHS = ("leaves", "level", "nodes")
_AT_ONCE = 64  # sentences whose nodes are held in memory together


class TreeReader:
    """What of a model reads sentences as trees."""

    def __init__(self, graphs: GraphFolder) -> None:
        self.graphs = graphs

    @cached_property
    def reader(self) -> Reader:
        """Parses sentences, and remembers them."""
        return Reader(cast("Vocabulary", self.graphs.vocabulary), LONGEST)

    def remember(self, sentence: str, tree: "Tree") -> None:
        """Take the tree of a sentence as it is given, without the parser."""
        self.reader.remember(sentence, tree)

    def encode_texts(self, sentences: Sequence[str]) -> Texts:
        """A vector for every word, and for the sentence as a whole one more."""
        readings = self.reader.read(sentences)
        places = word_places(readings)
        parts = []
        for start in range(0, len(readings), _AT_ONCE):
            some = readings[start : start + _AT_ONCE]
            own = word_places(some)
            states = self._vectors(some)[own.source] * own.weights[..., None]
            parts.append(np.pad(states, ((0, 0), (0, places.words.shape[1] - states.shape[1]), (0, 0))))
        return Texts(np.concatenate(parts), places.words, places.lengths)

    def encode_phrases(self, phrases: Sequence[str]) -> Floats:
        """Phrases that stand alone, as they would be within a sentence: (n, D)."""
        readings = self.reader.read(phrases)
        blocks = (readings[start : start + _AT_ONCE] for start in range(0, len(readings), _AT_ONCE))
        return np.concatenate([self._vectors(some)[phrase_places(some)] for some in blocks])

    def _vectors(self, readings: Sequence[Reading]) -> Floats:
        """The vectors of sentences, followed by those of all their noun phrases: (n + P, D)."""
        levels = Levels.of(readings)
        states, left = self.graphs.open("leaves")({"words": levels.words})
        below: list[NDArray[np.float32]] = [np.zeros((1, left.shape[1]), np.float32), left]
        found = [states]
        for children, nouns in zip(levels.children, levels.nouns, strict=True):
            given: dict[str, NDArray[Any]] = {"below": np.concatenate(below), "children": children, "nouns": nouns}
            states, left = self.graphs.open("level")(given)
            found.append(states)
            below.append(left)
        nodes, _ = phrase_nodes(readings)
        is_whole = self.graphs.weights.about["config"].get("sentence") == "max"
        run, lengths = node_runs(readings, nodes, whole=is_whole)
        runs = _padded(levels.rows[run], lengths)
        vectors: Floats = self.graphs.open("nodes")({"states": np.concatenate(found), "runs": runs})[0]
        return vectors


def _padded(rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Runs of rows, one after the other, as a table: the last row of a run is repeated to its end.

    Example:
        >>> _padded(np.array([5, 6, 7, 9]), np.array([3, 1])).tolist()
        [[5, 6, 7], [9, 9, 9]]
    """
    starts = np.cumsum(lengths) - lengths
    places = np.minimum(np.arange(int(lengths.max(initial=1))), lengths[:, None] - 1)
    found: NDArray[np.int64] = rows[starts[:, None] + places]
    return found
