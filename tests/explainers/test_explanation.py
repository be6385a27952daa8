"""Explanations as they are drawn and printed."""

import numpy as np
import pytest

from seesay.explainers.explanation import Explanation, let_names_lead, scale_heat


def test_heat_begins_at_the_median_and_ends_at_the_peak() -> None:
    maps = np.array([[0.0, 2.0, 2.0], [2.0, 3.0, 6.0]])
    found = Explanation("toy", (), np.zeros(0), maps, 0.0)
    np.testing.assert_allclose(found.heat, [[0, 0, 0], [0, 0.25, 1]])


def test_each_map_of_a_stack_is_scaled_by_itself() -> None:
    maps = np.array([[[0.0, 0.1, 0.1], [0.1, 0.3, 0.5]], [[0.0, 1.0, 1.0], [1.0, 3.0, 5.0]]])
    np.testing.assert_allclose(scale_heat(maps), [[[0, 0, 0], [0, 0.5, 1]]] * 2, atol=1e-12)


def test_a_flat_map_is_cold_everywhere() -> None:
    assert not scale_heat(np.full((2, 2), 0.25)).any()


def test_the_map_of_a_word_that_is_nowhere_stays_pale() -> None:
    maps = np.array([[[0.0, 0.0, 0.0, 0.05]], [[0.0, 0.0, 0.0, 0.4]]])
    found = Explanation("toy", ("a", "dog"), np.ones(2), maps[0], 0.0, word_maps=maps)
    heat = found.word_heat
    assert heat is not None
    assert heat.max(axis=(1, 2)) == pytest.approx([0.25, 1.0])
    assert Explanation("toy", (), np.zeros(0), maps[0], 0.0).word_heat is None


def test_what_an_explainer_does_not_give_is_left_out() -> None:
    bare = Explanation("toy", ("dog",), np.ones(1), np.zeros((1, 1)), 0.5)
    assert list(bare.to_dict()) == ["method", "score", "words", "map"]
    boxed = Explanation("toy", ("dog",), np.ones(1), np.zeros((1, 1)), 0.5, boxes=np.array([[0.0, 0.25, 1.0, 1 / 3]]))
    assert boxed.to_dict()["boxes"] == [[0.0, 0.25, 1.0, 0.3333]]


def test_where_nothing_rests_on_what_is_named_the_weights_stay_as_measured() -> None:
    weights = np.array([0.4, 0.0, 0.6, 0.0])
    found = Explanation("crops", ("a", "dog", "on", "grass"), weights, np.ones((1, 1)), 1.0)
    np.testing.assert_array_equal(let_names_lead(found).weights, weights)
