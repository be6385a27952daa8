"""A stage counts as much as it helps on dev, with whole sentences and with short texts."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from seesay.catalogue.weights import Weights, find, weights_digest
from seesay.settings.blend import Blend, Mix
from seesay.training.finishing.cascade import KS, Asked, choose_blend, choose_short, ranks_of, recalls
from seesay.training.finishing.later_stages import fits_weights, stages_before

N = 300
OWNERS = np.arange(N)


def scores(noise: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (np.eye(N) + noise * rng.normal(size=(N, N))).astype(np.float32)


def asked(before: np.ndarray, own: np.ndarray, n_words: int = 5, name: str = "toy") -> Asked:
    return Asked(name, before, own, np.eye(N, dtype=bool), np.full(N, n_words))


def test_a_stage_that_errs_elsewhere_gets_a_weight_and_helps() -> None:
    before, own = scores(0.4, 0), 7 * scores(0.4, 1) - 3
    blend, found = choose_blend([asked(before, own)], ["first"])
    assert blend.after == ("first",)
    assert 0.2 <= blend.weight <= 0.8
    better = recalls(blend.whole.blend(before, own), OWNERS)
    assert better["R@1"] > recalls(before, OWNERS)["R@1"] + 5
    assert found[f"{blend.k} photos, {blend.weight}"] == {"toy": pytest.approx(sum(better.values()), abs=0.01)}


def test_a_stage_that_knows_nothing_gets_no_weight_and_looks_at_the_fewest_photos() -> None:
    blend, _ = choose_blend([asked(scores(0.05, 0), scores(100.0, 1))], ["first"])
    assert (blend.weight, blend.k) == (0.0, KS[0])


def test_what_helps_one_collection_and_harms_another_does_not_count() -> None:
    helped = asked(scores(0.4, 0), scores(0.4, 1))
    harmed = asked(scores(0.4, 2), scores(100.0, 3), name="other")
    assert choose_blend([helped], ["first"])[0].weight
    assert choose_blend([helped, harmed], ["first"])[0].weight == 0.0


def test_slope_and_offset_bring_it_onto_the_scale_of_those_before() -> None:
    before = scores(0.4, 0)
    blend, _ = choose_blend([asked(before, 10 * before - 2)], ["first"])
    assert (blend.slope, blend.offset) == pytest.approx((0.1, 0.2), abs=1e-4)


def test_short_texts_have_values_of_their_own_where_these_find_more() -> None:
    one = asked(scores(2.0, 0), scores(0.1, 1), n_words=1)
    two = asked(scores(0.05, 2), scores(100.0, 3), n_words=2)
    both = Asked("toy", *(np.concatenate(pair) for pair in zip(*(
        (each.before, each.own, each.fits, each.n_words) for each in (one, two)), strict=True)))  # fmt: skip
    blend = Blend(("first",), 20, 0.1, 0.01, 0.0)
    (mix,), tables = choose_short([both], blend)
    assert mix.weight > 0.5
    assert mix.k == max(KS)
    found = tables["1"]
    assert found[f"{mix.k} photos, {mix.weight}"]["toy"] == pytest.approx(one.precision(mix), abs=0.01)
    assert one.precision(mix) > one.precision(blend.whole) + 10
    assert set(tables) == {"1", "2"}


def test_short_texts_count_as_sentences_do_where_nothing_finds_more() -> None:
    blend = Blend(("first",), 20, 0.0, 0.01, 0.0)
    assert choose_short([asked(scores(0.05, 0), scores(100.0, 1), n_words=1)], blend)[0] == ()
    nothing = np.zeros((0, N), np.float32)
    assert choose_short([Asked("toy", nothing, nothing, nothing > 0, np.zeros(0, np.int64))], blend) == ((), {})


def test_average_precision_counts_every_photo_that_fits() -> None:
    before = np.array([[0.9, 0.5, 0.1]], np.float32)
    found = Asked("toy", before, before, np.array([[True, False, True]]), np.array([1]))
    assert found.precision(Mix(20, 0.0, 1.0, 0.0)) == pytest.approx(100 * (1 + 2 / 3) / 2)


def test_ranks_count_what_scores_better() -> None:
    found = ranks_of(np.array([[0.3, 0.9, 0.1], [0.5, 0.5, 0.5]], np.float32), np.array([2, 0]))
    assert found.tolist() == [2, 0]


def test_a_table_that_was_chosen_beside_other_weights_is_chosen_anew() -> None:
    present = find("dvsa")
    about = deepcopy(present.about)
    about["tuned"]["cascade"]["weights"] = {"vse": weights_digest(find("vse").folder)}
    weights = replace(present, about=about)
    assert fits_weights(weights, "cascade")
    about["tuned"]["cascade"]["weights"] = {"vse": "0" * 64}
    assert not fits_weights(weights, "cascade")
    assert stages_before(Weights(present.folder, about)) == ("eye",)
