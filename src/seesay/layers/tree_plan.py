"""In which order the nodes of many trees are computed together.

A node waits for its children only, so all nodes of one height can be computed at once, over all trees of a batch. What
is known of a tree alone, its `Shape`, is found once (`seesay.text.readings`); a `Plan` for a batch of shapes is made of
a few array operations.

A plan has a row for every input and every inner node. Inputs come first: leaves that read the same word share a row.
Inner nodes follow, height by height, and within a height noun phrases, then other nodes, then roots, so that nodes
which share their weights stand next to each other and roots, which have nobody to report to, at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from seesay.text.readings import NOUN, OTHER, Indices, Reading, Shape, join_shapes
from seesay.text.vocabulary import UNKNOWN


@dataclass(frozen=True, slots=True)
class Level:
    """Inner nodes of one height: rows [start, end), of which [start, nouns) are noun phrases and [others, end) roots.

    Attributes:
        children: The rows of all children, parent after parent; `offsets` says where those of each parent begin.
        parents: The inner node above each of the rows [start, others), counted from the first inner node.
    """

    start: int
    nouns: int
    others: int
    end: int
    children: Tensor
    offsets: Tensor
    parents: Tensor


@dataclass(frozen=True, slots=True)
class Plan:
    """How a batch of trees is computed.

    Attributes:
        n_inputs, n_rows: Rows that are inputs, and all.
        levels: Inner nodes from the lowest height upwards.
        leaf_parents: The inner nodes above leaves, input after input; `leaf_offsets` says where those of each begin.
        rows: (n_nodes,) the row of every node, tree after tree in the order of `Tree.nodes`.
        roots: (n_trees,) the row of every root.
        noun_rows, other_rows: The rows that have a parent and are noun phrases, or are not.
    """

    n_inputs: int
    n_rows: int
    levels: tuple[Level, ...]
    leaf_parents: Tensor
    leaf_offsets: Tensor
    rows: Tensor
    roots: Tensor
    noun_rows: Tensor
    other_rows: Tensor

    @classmethod
    def of(cls, shapes: Sequence[Shape], inputs: ArrayLike | None = None, n_inputs: int = 0) -> "Plan":
        """Plan a batch.

        Args:
            shapes: One for each tree.
            inputs: (n_leaves,) the input that each leaf reads, tree after tree and left to right; where it is not
                given every leaf has its own.
            n_inputs: How many inputs there are; as many as are read where it is not given.

        Example:
            >>> from seesay.text.trees import Tree
            >>> shape = Shape.of(Tree.from_json('["S", ["NP", "a", "dog"], ["VP", "sees", ["NP", "a", "cat"]]]'))
            >>> plan = Plan.of([shape], [0, 1, 2, 0, 3])  # a, dog, sees, a, cat
            >>> plan.rows.tolist()  # S, NP, a, dog, VP, sees, NP, a, cat
            [7, 4, 0, 1, 6, 2, 5, 0, 3]
            >>> [(level.start, level.end) for level in plan.levels]
            [(4, 6), (6, 7), (7, 8)]
        """
        parent, height, kind = join_shapes(shapes)
        leaves, inner = np.flatnonzero(height == 0), np.flatnonzero(height)
        read = np.arange(len(leaves)) if inputs is None else np.asarray(inputs, np.int64).reshape(-1)
        if len(read) != len(leaves):
            raise ValueError(f"{len(read)} inputs for {len(leaves)} leaves")
        n_inputs = n_inputs or (int(read.max()) + 1 if len(read) else 0)
        inner = inner[np.lexsort((kind[inner], height[inner]))]
        rows = np.empty(len(height), np.int64)
        rows[leaves], rows[inner] = read, n_inputs + np.arange(len(inner))

        has_parent = np.flatnonzero(parent >= 0)
        above = rows[parent[has_parent]]  # (n_edges,)
        order = np.argsort(above, kind="stable")
        children, above = rows[has_parent[order]], above[order]
        starts = np.searchsorted(above, n_inputs + np.arange(len(inner) + 1))  # of each inner node's children
        up = np.where(parent[inner] >= 0, rows[parent[inner]] - n_inputs, -1)
        key = 3 * height[inner] + kind[inner]
        levels = []
        for tall in range(1, int(height.max(initial=0)) + 1):
            start, nouns, others, end = np.searchsorted(key, 3 * tall + np.arange(4)).tolist()
            first, last = starts[start], starts[end]
            levels.append(
                Level(
                    start=n_inputs + start,
                    nouns=n_inputs + nouns,
                    others=n_inputs + others,
                    end=n_inputs + end,
                    children=torch.from_numpy(children[first:last]),
                    offsets=torch.from_numpy(starts[start:end] - first),
                    parents=torch.from_numpy(up[start:others]),
                )
            )
        with_parent = leaves[parent[leaves] >= 0]
        order = np.argsort(rows[with_parent], kind="stable")
        by_input = with_parent[order]
        return cls(
            n_inputs=n_inputs,
            n_rows=n_inputs + len(inner),
            levels=tuple(levels),
            leaf_parents=torch.from_numpy(rows[parent[by_input]] - n_inputs),
            leaf_offsets=torch.from_numpy(np.searchsorted(rows[by_input], np.arange(n_inputs))),
            rows=torch.from_numpy(rows),
            roots=torch.from_numpy(rows[parent < 0]),
            noun_rows=torch.from_numpy(n_inputs + np.flatnonzero(kind[inner] == NOUN)),
            other_rows=torch.from_numpy(
                np.concatenate([np.arange(n_inputs), n_inputs + np.flatnonzero(kind[inner] == OTHER)])
            ),
        )


def plan_readings(readings: Sequence[Reading], hidden: NDArray[np.bool_] | None = None) -> tuple[Indices, Plan]:
    """The distinct words of sentences (n_inputs,), and how their trees are computed from these.

    Args:
        hidden: (n_leaves,) which words, over all sentences, are replaced by the unknown word.
    """
    words = np.concatenate([reading.words for reading in readings])
    if hidden is not None:
        words = np.where(hidden, UNKNOWN, words)
    distinct, inputs = np.unique(words, return_inverse=True)
    return distinct, Plan.of([reading.shape for reading in readings], inputs, len(distinct))
