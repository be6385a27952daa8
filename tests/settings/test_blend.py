"""How a later stage of search counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.settings.blend import Blend
from seesay.settings.calibration import Calibration


def test_only_the_best_k_photos_of_a_sentence_are_changed() -> None:
    before = np.array([[0.1, 0.5, 0.4]], np.float32)
    scores = np.array([[9.0, 2.0, 3.0]], np.float32)
    found = Blend(("vse",), k=2, weight=0.5, slope=0.1, offset=0.2).blend(before, scores)
    np.testing.assert_allclose(found, [[0.1, 0.5 * 0.5 + 0.5 * 0.4, 0.5 * 0.4 + 0.5 * 0.5]], atol=1e-6)


@pytest.mark.parametrize(
    "table", [None, {}, {"after": ["vse"], "k": 0, "weight": 0.5, "slope": 1, "offset": 0}, [1],
              {"after": ["vse"], "k": 10, "weight": 2, "slope": 1, "offset": 0},
              {"after": ["vse"], "k": "10", "weight": 0.5, "slope": 1, "offset": 0}],
)  # fmt: skip
def test_what_is_no_blend_is_refused(table: Any) -> None:
    with pytest.raises(SeesayError, match=r"config\.json: (cascade|the key 'cascade\.)"):
        Blend.from_table(table, "config.json")


def test_a_blend_is_read_as_it_was_written() -> None:
    blend = Blend(("vse",), 200, 0.4, 0.8, -0.02)
    assert Blend.from_table({**blend.to_table(), "measured on": "flickr8k/dev"}, "config.json") == blend
    calibrated = replace(blend, calibration=Calibration(8.0, 2.0, -3.0, -1.0, ceiling=0.5))
    assert Blend.from_table(calibrated.to_table(), "config.json") == calibrated
    with pytest.raises(SeesayError, match=r"config\.json: the key 'cascade\.calibration\.slope_per_word' is missing"):
        Blend.from_table({**blend.to_table(), "calibration": {"slope": 1}}, "config.json")
