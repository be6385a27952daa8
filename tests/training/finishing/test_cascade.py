"""A stage counts as much as it helps on dev."""

from copy import deepcopy

import numpy as np
import pytest

from seesay.catalogue.weights import Weights, find, weights_digest
from seesay.training.finishing.cascade import KS, choose_blend, ranks_of, recalls
from seesay.training.finishing.steps import _fits, _stages_before


def scores(noise: float, seed: int, n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (np.eye(n) + noise * rng.normal(size=(n, n))).astype(np.float32)


OWNERS = np.arange(300)


def test_a_stage_that_errs_elsewhere_gets_a_weight_and_helps() -> None:
    before = scores(0.4, 0)
    blend, found = choose_blend(before, 7 * scores(0.4, 1) - 3, OWNERS, ["first"])
    assert blend.after == ("first",)
    assert 0.2 <= blend.weight <= 0.8
    assert found["R@1"] > recalls(before, OWNERS)["R@1"] + 5
    assert found == recalls(blend.blend(before, 7 * scores(0.4, 1) - 3), OWNERS)


def test_a_stage_that_knows_nothing_gets_no_weight_and_looks_at_the_fewest_photos() -> None:
    blend, _ = choose_blend(scores(0.05, 0), scores(100.0, 1), OWNERS, ["first"])
    assert (blend.weight, blend.k) == (0.0, KS[0])


def test_slope_and_offset_bring_it_onto_the_scale_of_those_before() -> None:
    before = scores(0.4, 0)
    blend, _ = choose_blend(before, 10 * before - 2, OWNERS, ["first"])
    assert (blend.slope, blend.offset) == pytest.approx((0.1, 0.2), abs=1e-4)


def test_ranks_count_what_scores_better() -> None:
    found = ranks_of(np.array([[0.3, 0.9, 0.1], [0.5, 0.5, 0.5]], np.float32), np.array([2, 0]))
    assert found.tolist() == [2, 0]


def test_a_table_that_was_chosen_beside_other_weights_is_chosen_anew() -> None:
    present = find("dvsa")
    about = deepcopy(present.about)
    about["tuned"]["cascade"]["weights"] = {"vse": weights_digest(find("vse").folder)}
    assert _fits(Weights(present.folder, about), "cascade")
    about["tuned"]["cascade"]["weights"] = {"vse": "0" * 64}
    assert not _fits(Weights(present.folder, about), "cascade")
    assert _stages_before(Weights(present.folder, about)) == ("eye",)
