"""The curve that makes probabilities of cosines."""

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.settings.calibration import MOST_WORDS, Calibration

CURVE = Calibration(slope=8.0, slope_per_word=1.0, offset=-3.0, offset_per_word=-1.0)


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
    with pytest.raises(SeesayError, match=r"config\.json: calibration\.ceiling cannot be"):
        Calibration.from_table(CURVE.to_table() | {"ceiling": ceiling}, "config.json")


@pytest.mark.parametrize("table", [{}, [], "high", {"slope": "steep"}, {"slope": 1.0, "offset": 2.0}])
def test_what_is_no_table_is_refused(table: object) -> None:
    with pytest.raises(SeesayError, match=r"config\.json: (calibration|the key 'calibration\.)"):
        Calibration.from_table(table, "config.json")


def test_every_pair_may_have_its_own_number_of_words() -> None:
    both = CURVE.probability([0.5, 0.5], np.array([1, 4]))
    assert both.tolist() == [float(CURVE.probability(0.5, n)) for n in (1, 4)]
