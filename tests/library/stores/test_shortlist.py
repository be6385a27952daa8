"""The best are found in their exact order, however the scores that are known at first are wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from seesay.library.stores.shortlist import DisagreeError, best_places, exact_best

Floats = NDArray[np.float32]


@given(st.integers(1, 5000), st.integers(1, 300), st.integers(0, 3))
def test_the_highest_are_those_of_a_sort(n: int, wanted: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 200, n).astype(np.float32)
    order = np.lexsort((np.arange(n), -scores))
    np.testing.assert_array_equal(best_places(scores, wanted), order[: min(wanted, n)])


def rough(n: int, error: float, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    exact = rng.standard_normal(n).astype(np.float32)
    return exact, exact + error * rng.standard_normal(n).astype(np.float32)


@pytest.mark.parametrize("error", [0.001, 0.03, 0.3, 1.0])
@pytest.mark.parametrize("n", [100, 5000, 200_000])
def test_the_exact_best_are_found_by_rough_scores(n: int, error: float) -> None:
    exact, scores = rough(n, error)
    places, found = exact_best(scores, 40, lambda asked: exact[asked], tolerance=100, nearly=True)
    np.testing.assert_array_equal(places, np.argsort(-exact)[:40])
    np.testing.assert_array_equal(found, exact[places])


def test_small_errors_ask_for_few_exact_scores() -> None:
    exact, scores = rough(200_000, 0.03)
    asked: list[int] = []

    def look_up(places: NDArray[np.int64]) -> Floats:
        asked.append(len(places))
        return exact[places]

    exact_best(scores, 40, look_up, tolerance=100, nearly=True)
    assert asked == [192]


def test_what_has_gone_is_left_out() -> None:
    exact, scores = rough(3000, 0.01)
    gone = np.argsort(-exact)[:5]
    exact[gone] = np.nan
    places, _ = exact_best(scores, 10, lambda asked: exact[asked], tolerance=1, nearly=True)
    assert not set(places.tolist()) & set(gone.tolist())
    np.testing.assert_array_equal(places, np.argsort(-np.nan_to_num(exact, nan=-9))[:10])


def test_scores_that_are_wrong_by_more_than_they_may_be_are_refused() -> None:
    exact, scores = rough(3000, 0.01)
    exact[np.argmax(exact)] += 1
    with pytest.raises(DisagreeError):
        exact_best(scores, 10, lambda asked: exact[asked], tolerance=0.5, nearly=False)


def test_scores_that_are_exact_are_looked_up_once_and_no_oftener_than_wanted() -> None:
    exact, _ = rough(3000, 0.0)
    asked: list[int] = []

    def look_up(places: NDArray[np.int64]) -> Floats:
        asked.append(len(places))
        return exact[places]

    exact_best(exact, 10, look_up, tolerance=1e-3, nearly=False)
    assert asked == [10]
