"""How a later stage of search counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.settings.blend import NOTHING, Blend, Mix
from seesay.settings.calibration import Calibration


def known(word: str) -> bool:
    return word != "zeppelin"


def test_only_the_best_k_photos_of_a_sentence_are_changed() -> None:
    before = np.array([[0.1, 0.5, 0.4]], np.float32)
    scores = np.array([[9.0, 2.0, 3.0]], np.float32)
    found = Mix(k=2, weight=0.5, slope=0.1, offset=0.2).blend(before, scores)
    np.testing.assert_allclose(found, [[0.1, 0.5 * 0.5 + 0.5 * 0.4, 0.5 * 0.4 + 0.5 * 0.5]], atol=1e-6)


def test_texts_of_few_words_are_blended_in_their_own_way() -> None:
    before, scores = np.array([[0.5], [0.5], [0.5]], np.float32), np.array([[1.0], [1.0], [1.0]], np.float32)
    blend = Blend(("eye",), 20, 0.2, 1.0, 0.0, short=(Mix(50, 1.0, 1.0, 0.0), Mix(100, 0.6, 1.0, 0.0)))
    texts = ["the dog", "a red shirt", "a big dog in the snow"]
    np.testing.assert_allclose(blend.blend(before, scores, texts, known), [[1.0], [0.8], [0.6]], atol=1e-6)
    assert [blend.most([text], known) for text in texts] == [50, 100, 20]
    assert blend.most(texts, known) == 100
    assert blend.mix_of("the", known) == blend.short[0]  # without any content word


def test_a_short_text_with_a_word_that_the_model_never_learned_is_left_as_it_was() -> None:
    blend = Blend(("eye",), 20, 0.2, 1.0, 0.0, short=(Mix(50, 1.0, 1.0, 0.0), Mix(100, 0.6, 1.0, 0.0)))
    assert blend.mix_of("zeppelin", known) == blend.mix_of("a red zeppelin", known) == NOTHING
    assert blend.mix_of("a red zeppelin over the beach", known) == blend.whole
    before, scores = np.array([[0.5, 0.4]], np.float32), np.array([[0.1, 0.9]], np.float32)
    assert blend.blend(before, scores, ["zeppelin"], known).tolist() == before.tolist()


def test_a_stage_looks_at_no_photo_for_texts_that_it_does_not_count_for() -> None:
    blend = Blend(("eye",), 20, 0.0, 1.0, 0.0, short=(Mix(50, 0.5, 1.0, 0.0),))
    assert [blend.most(texts, known) for texts in (["a dog"], ["dogs in snow"], [])] == [50, 0, 0]


@pytest.mark.parametrize(
    "table", [None, {}, {"after": ["vse"], "k": 0, "weight": 0.5, "slope": 1, "offset": 0}, [1],
              {"after": ["vse"], "k": 10, "weight": 2, "slope": 1, "offset": 0},
              {"after": ["vse"], "k": 10, "weight": 0.5, "slope": 1, "offset": 0, "short": [{"k": 10}]},
              {"after": ["vse"], "k": 10, "weight": 0.5, "slope": 1, "offset": 0, "short": {"k": 10}},
              {"after": ["vse"], "k": "10", "weight": 0.5, "slope": 1, "offset": 0}],
)  # fmt: skip
def test_what_is_no_blend_is_refused(table: Any) -> None:
    with pytest.raises(SeesayError, match=r"config\.json: (cascade|the key 'cascade\.)"):
        Blend.from_table(table, "config.json")


def test_a_blend_is_read_as_it_was_written() -> None:
    blend = Blend(("vse",), 200, 0.4, 0.8, -0.02)
    both = replace(blend, short=(Mix(100, 0.6, 0.5, 0.1),))
    assert Blend.from_table(both.to_table(), "config.json") == both
    assert Blend.from_table({**blend.to_table(), "measured on": "flickr8k/dev"}, "config.json") == blend
    calibrated = replace(blend, calibration=Calibration(8.0, 2.0, -3.0, -1.0, ceiling=0.5))
    assert Blend.from_table(calibrated.to_table(), "config.json") == calibrated
    with pytest.raises(SeesayError, match=r"config\.json: the key 'cascade\.calibration\.slope_per_word' is missing"):
        Blend.from_table({**blend.to_table(), "calibration": {"slope": 1}}, "config.json")
