"""`seesay.ground` by weights that have learned to draw boxes: freely, or among regions where they are given."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import seesay
from seesay.grounding.learned import learned_boxes
from seesay.images import proposals
from seesay.images.regions import windows
from seesay.metrics.grounding import box_iou
from seesay.runtime.matching import Model

MAN = Path(str(resources.files("seesay") / "samples" / "photographer.jpg"))


def test_a_small_thing_gets_a_small_box_and_the_point_lies_in_it() -> None:
    camera, man = seesay.ground(MAN, ["a camera", "a man"])
    areas = [(each.box[2] - each.box[0]) * (each.box[3] - each.box[1]) for each in (camera, man)]
    assert areas[0] < 0.1 < areas[1]
    for each in (camera, man):
        left, top, right, bottom = each.box
        assert left <= each.point[0] <= right
        assert top <= each.point[1] <= bottom
        assert each.is_found


def test_regions_that_are_given_are_chosen_from() -> None:
    found = seesay.ground(MAN, "a man", regions="windows-20")[0]
    assert np.abs(windows(20) - np.array(found.box)).max(1).min() < 1e-6


def test_boxes_need_no_selective_search(monkeypatch: pytest.MonkeyPatch) -> None:
    found = seesay.ground(MAN, "a man")
    monkeypatch.setattr(proposals, "has", lambda extra: False)
    without = seesay.ground(MAN, "a man")
    assert without[0].box == found[0].box
    assert without.warnings == ()
    assert "selective search" in " ".join(seesay.ground(MAN, "a man", regions="search-20").warnings)


def test_several_boxes_of_a_phrase_lie_apart() -> None:
    found = seesay.ground(MAN, "a man", n=3)
    assert len(found) == 3
    boxes = np.array([each.box for each in found])
    assert box_iou(boxes, boxes)[np.triu_indices(3, 1)].max() <= 0.5 + 1e-6
    assert found[0].box == seesay.ground(MAN, "a man")[0].box


def test_weights_without_learned_boxes_choose_among_proposals() -> None:
    assert learned_boxes(Model("dvsa")) is not None
    assert learned_boxes(Model("hmlstm")) is None
