"""The present value stays, unless another is better by more than chance."""

import numpy as np

from seesay.training.finishing.choosing import choose


def test_without_a_present_value_the_best_is_taken_and_of_equal_ones_the_first() -> None:
    assert choose({"a": [0, 1], "b": [1, 1], "c": [1, 1]}) == "b"
    assert choose({"a": [0, 1], "b": [1, 1]}, present="elsewhere") == "b"


def test_a_small_gain_is_chance_and_a_large_one_is_not() -> None:
    rng = np.random.default_rng(0)
    present = rng.random(1000) < 0.5
    little, much = present.copy(), present.copy()
    little[:3] = True
    much[:100] = True
    assert choose({"old": present, "new": little}, "old") == "old"
    assert choose({"old": present, "new": much}, "old") == "new"


def test_one_example_says_nothing() -> None:
    assert choose({"old": [0], "new": [1]}, "old") == "old"
