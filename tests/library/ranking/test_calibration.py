"""Cosines as probabilities."""

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.library.ranking.calibration import MOST_WORDS, Calibration, fit_calibration, word_for

CURVE = Calibration(slope=8.0, slope_per_word=1.0, offset=-3.0, offset_per_word=-1.0)


def observe(n: int = 60_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs that follow the curve."""
    rng = np.random.default_rng(1)
    cosines, n_words = rng.uniform(-0.2, 0.9, n), rng.integers(1, MOST_WORDS + 1, n)
    logits = (8 + n_words) * cosines - 3 - n_words
    return cosines, rng.random(n) < 1 / (1 + np.exp(-logits)), n_words


def test_the_curve_that_made_the_pairs_is_found_again() -> None:
    found = fit_calibration(*observe())
    for n_words in (1, 3, 6):
        cosines = np.linspace(0, 0.8, 9)
        np.testing.assert_allclose(found.probability(cosines, n_words), CURVE.probability(cosines, n_words), atol=0.03)


def test_a_ceiling_is_found_where_what_fits_is_not_always_said() -> None:
    rng = np.random.default_rng(2)
    cosines = rng.uniform(0, 1, 60_000)
    fits = rng.random(60_000) < 0.5 / (1 + np.exp(6 - 20 * cosines))
    found = fit_calibration(cosines, fits, np.full(60_000, 2))
    assert found.ceiling == 0.5
    assert found.probability(1.0, 2) == pytest.approx(0.5, abs=0.02)
    assert fit_calibration(*observe()).ceiling == 1.0


def test_no_other_curve_makes_them_likelier() -> None:
    cosines, fits, n_words = observe(1000)
    found = fit_calibration(cosines, fits, n_words)

    def cost(curve: Calibration) -> float:
        p = np.array([curve.probability(c, int(n)) for c, n in zip(cosines, n_words, strict=True)])
        return -float(np.where(fits, np.log(p), np.log(1 - p)).sum())

    best = cost(found)
    for delta in np.eye(4) * 0.05:
        for sign in (1, -1):
            values = np.array([found.slope, found.slope_per_word, found.offset, found.offset_per_word]) + sign * delta
            assert cost(Calibration(*values, found.ceiling)) > best


def test_sentences_of_one_length_are_enough() -> None:
    rng = np.random.default_rng(0)
    cosines = rng.uniform(0, 1, 30_000)
    found = fit_calibration(cosines, rng.random(30_000) < 1 / (1 + np.exp(5 - 10 * cosines)), np.full(30_000, 3))
    assert found.probability(0.5, 3) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("fits", [[True, True], [False, False], []])
def test_pairs_that_all_or_none_fit_teach_nothing(fits: list[bool]) -> None:
    with pytest.raises(SeesayError, match="some that fit and some that do not"):
        fit_calibration([0.1, 0.9][: len(fits)], fits, [1, 1][: len(fits)])


def test_a_step_is_no_curve() -> None:
    with pytest.raises(SeesayError, match="wholly apart"):
        fit_calibration([0.1, 0.2, 0.8, 0.9], [False, False, True, True], [1, 1, 1, 1])


def test_probabilities_stay_between_zero_and_one() -> None:
    steep = Calibration(5000.0, 0.0, 0.0, 0.0)
    assert steep.probability([-1, 0, 1], 1).tolist() == [0.0, 0.5, 1.0]


def test_very_long_sentences_count_as_long_ones() -> None:
    assert CURVE.probability(0.5, 60) == CURVE.probability(0.5, MOST_WORDS)
    assert CURVE.probability(0.5, 0) == CURVE.probability(0.5, 1)


def test_a_table_is_read_back() -> None:
    assert Calibration.from_table(CURVE.to_table() | {"data": "flickr8k/dev"}, "config.json") == CURVE


@pytest.mark.parametrize("ceiling", [0, 1.5, "high"])
def test_a_ceiling_that_is_none_is_refused(ceiling: object) -> None:
    with pytest.raises(SeesayError, match=r"config\.json: the ceiling of 'calibration' is"):
        Calibration.from_table(CURVE.to_table() | {"ceiling": ceiling}, "config.json")


@pytest.mark.parametrize("table", [{}, [], "high", {"slope": "steep"}, {"slope": 1.0, "offset": 2.0}])
def test_what_is_no_table_is_refused(table: object) -> None:
    with pytest.raises(SeesayError, match=r"config\.json: 'calibration' is .*\n  allowed: an object with slope"):
        Calibration.from_table(table, "config.json")


@pytest.mark.parametrize(
    ("probability", "word"), [(1, "likely"), (0.3, "likely"), (0.29, "maybe"), (0.1, "maybe"), (0.0999, "unlikely")]
)
def test_words(probability: float, word: str) -> None:
    assert word_for(probability) == word
