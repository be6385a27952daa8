"""How much tags count: as much as they help words that training hardly saw."""

import numpy as np
import pytest

from seesay.settings.tags import TagSettings
from seesay.training.finishing.tags import TagQueries, choose_tags

N = 60


def queries(helpful: bool, count: int = 0) -> TagQueries:
    """Sixty photos and a query for each; cosines know nothing, tags name the right photo or none in particular."""
    rng = np.random.default_rng(0)
    cosines = (0.2 * rng.normal(size=(N, N))).astype(np.float32)
    named = np.eye(N, dtype=np.float32) if helpful else rng.random((N, N)).astype(np.float32)
    return TagQueries(cosines, cosines, named, np.full(N, count), np.arange(N))


def test_what_a_query_gains_is_counted_by_hand() -> None:
    cosines = np.array([[0.5, 0.4], [0.9, 0.1]], np.float32)
    named = np.array([[0.0, 1.0], [0.0, 1.0]], np.float32)
    both = TagQueries(cosines, cosines, named, np.array([0, 1000]), np.array([1, 1]))
    gains = both.gains(TagSettings(weight=0.2, well_known=500))
    # The first word was never seen: its tag lifts the right photo; the second is well known and needs no help.
    # Struck out, both are lifted by 0.2, which is enough for the first only.
    assert gains.tolist() == [3, 2, 3, 2]


def test_tags_that_name_the_photo_get_a_weight() -> None:
    found, figures = choose_tags([queries(helpful=True)], TagSettings(weight=0.0))
    assert found.weight >= 0.5
    assert figures[f"{found.weight:g} {found.well_known}"] > figures["0 500"] + 100


def test_the_present_ones_stay_where_nothing_is_gained() -> None:
    present = TagSettings(weight=0.0)
    assert choose_tags([queries(helpful=False)], present)[0] == present


def test_a_well_known_word_is_one_that_tags_do_not_help() -> None:
    rare, known = queries(helpful=True, count=20), queries(helpful=False, count=400)
    sure = TagQueries(np.eye(N, dtype=np.float32), known.struck, known.named, known.counts, known.owners)
    found, _ = choose_tags([rare, sure], TagSettings(weight=0.5, well_known=2000))
    assert found.weight_of(20) > found.weight_of(400)
    assert found.weight == pytest.approx(0.5, abs=0.21)
