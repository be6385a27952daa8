"""In which order nodes are computed: children first, and everything that shares weights side by side."""

import numpy as np
import pytest

from seesay.layers.tree_plan import Plan
from seesay.text.readings import NOUN, OTHER, ROOT, Shape
from seesay.text.trees import Tree

TREE = Tree.from_json('["S", ["NP", ["NP", "a", "man"], ["PP", "in", ["NP", "a", "hat"]]], ["VP", "runs"]]')


def test_the_shape_of_a_tree_follows_the_order_of_its_nodes() -> None:
    shape, nodes = Shape.of(TREE), list(TREE.nodes())
    assert len(shape) == len(nodes)
    for number, node in enumerate(nodes):
        below = [nodes[place] for place in np.flatnonzero(shape.parent == number)]
        assert [child.span for child in below] == [child.span for child in node.children]
        assert (shape.height[number] == 0) == node.is_leaf
    assert shape.height.tolist() == [4, 3, 1, 0, 0, 2, 0, 1, 0, 0, 1, 0]
    assert shape.kind[0] == ROOT
    assert [kind == NOUN for kind in shape.kind[1:]] == [node.is_noun_phrase for node in nodes[1:]]
    assert shape.n_leaves == 6


def test_every_node_is_computed_after_its_children() -> None:
    plan = Plan.of([Shape.of(TREE)] * 2)
    rows, n_nodes = plan.rows.tolist(), len(Shape.of(TREE))
    for level in plan.levels:
        assert (level.children < level.start).all()
        assert len(level.offsets) == level.end - level.start
        assert len(level.parents) == level.others - level.start
    found = sorted(rows)
    assert found == list(range(2 * n_nodes))
    assert plan.roots.tolist() == [rows[0], rows[n_nodes]]


def test_noun_phrases_come_first_and_roots_last_within_a_height() -> None:
    low = Tree.from_json('["S", "runs"]')
    plan = Plan.of([Shape.of(low), Shape.of(TREE)])
    first = plan.levels[0]
    kinds = {int(row): int(kind) for shape in [np.concatenate([Shape.of(low).kind, Shape.of(TREE).kind])]
             for row, kind in zip(plan.rows, shape, strict=True)}  # fmt: skip
    of_level = [kinds[row] for row in range(first.start, first.end)]
    assert of_level == [NOUN, NOUN, OTHER, ROOT]
    assert (first.nouns - first.start, first.others - first.start) == (2, 3)


def test_leaves_that_read_the_same_input_share_a_row() -> None:
    plan = Plan.of([Shape.of(TREE)], [0, 1, 2, 0, 3, 4])
    assert plan.n_inputs == 5
    assert plan.n_rows == 5 + 6
    leaves = [row for row, node in zip(plan.rows.tolist(), TREE.nodes(), strict=True) if node.is_leaf]
    assert leaves == [0, 1, 2, 0, 3, 4]
    ends = [*plan.leaf_offsets.tolist()[1:], len(plan.leaf_parents)]
    assert [end - start for start, end in zip(plan.leaf_offsets.tolist(), ends, strict=True)] == [2, 1, 1, 1, 1]


def test_inputs_for_another_number_of_leaves_are_refused() -> None:
    with pytest.raises(ValueError, match="2 inputs for 6 leaves"):
        Plan.of([Shape.of(TREE)], [0, 1])


def test_a_batch_without_trees_has_an_empty_plan() -> None:
    plan = Plan.of([])
    assert (plan.n_inputs, plan.n_rows, plan.levels, len(plan.roots)) == (0, 0, (), 0)
