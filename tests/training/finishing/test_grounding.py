"""Grounding constants: hits by hand, and the present ones stay where dev prefers no others."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seesay import data
from seesay.data import Box, Collection, Phrase
from seesay.metrics.grounding import box_accuracy, pointing_game
from seesay.models.aligner import load_aligner
from seesay.settings.grounding import GroundingSettings
from seesay.training.finishing.grounding import (
    Phrases,
    Words,
    choose_grounding,
    gather,
    hit_boxes,
    hit_points,
    hit_words,
)

LEFT, RIGHT = [0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]
BOXES = np.array([LEFT, RIGHT, [0, 0, 1, 1]], np.float32)
HEAT = np.array([[[4.0, 4.0, 0.0, 0.0]], [[0.0, 0.0, 4.0, 4.0]]])  # a word of the left half, and one of the right


def phrases(*truth: list[float]) -> Phrases:
    return Phrases(HEAT, np.array([0, 0]), [np.array([box]) for box in truth], [BOXES])


def test_points_and_boxes_hit_what_the_metrics_count() -> None:
    right, wrong = phrases(LEFT, RIGHT), phrases(LEFT, LEFT)
    assert hit_points(right, 0.0).tolist() == [True, True]
    assert hit_points(wrong, 0.0).tolist() == [True, False]
    assert hit_boxes(right, -0.25, 1.0, 1.0).tolist() == [True, True]
    assert hit_boxes(wrong, -0.25, 1.0, 1.0).tolist() == [True, False]
    assert hit_boxes(right, -0.25, 1.0, 0.0).tolist() == [True, True]


def test_words_are_hit_where_the_middle_of_their_box_lies_in_a_box_of_their_phrase() -> None:
    own = [((0, 1), np.array([LEFT])), ((1, 2), np.array([RIGHT]))]
    settings = GroundingSettings(common=0.0, coupling=0.0, area_power=1.0)
    assert hit_words([Words(HEAT, BOXES, [True, True], own)], settings).tolist() == [True, True]
    together = replace(settings, coupling=50.0)  # both words get one box, which one of the phrases lies beside
    assert hit_words([Words(HEAT, BOXES, [True, True], own)], together).tolist().count(True) == 1


def test_the_present_settings_stay_where_others_are_no_better_by_more_than_chance() -> None:
    own = [((0, 1), np.array([LEFT])), ((1, 2), np.array([RIGHT]))]
    present = GroundingSettings(blur=0.3)
    seen = (phrases(LEFT, RIGHT), [Words(HEAT, BOXES, [True, True], own)])
    found, figures = choose_grounding({0.0: seen, 0.65: seen}, present)
    assert found == present
    assert figures["boxes by closer"] == {"0": 100.0, "0.65": 100.0}
    assert figures["pointing by blur"]["0.3"] == 100.0
    assert len(figures["boxes by floor, ramp, area power"]) == 75


def test_images_are_looked_at_again_where_that_is_better_by_more_than_chance() -> None:
    own = [((0, 1), np.array([LEFT])), ((1, 2), np.array([RIGHT]))]
    words = [Words(HEAT, BOXES, [True, True], own)]
    n = 20
    truth = [np.array([box]) for box in [LEFT, RIGHT] * n]
    places = np.repeat(np.arange(n), 2)
    right, blind = np.tile(HEAT, (n, 1, 1)), np.tile(HEAT[::-1], (n, 1, 1))
    whole, closer = (Phrases(heat, places, truth, [BOXES] * n) for heat in (blind, right))
    found, figures = choose_grounding({0.0: (whole, words), 0.65: (closer, words)}, GroundingSettings())
    assert found.closer == 0.65
    assert figures["pointing by closer"] == {"0": 0.0, "0.65": 100.0}


@pytest.mark.usefixtures("in_colours_cache")
def test_what_a_model_sees_is_gathered_as_evaluation_does(halves: Path, aligner_run: Path) -> None:
    collection = boxed(data.load(halves).split("test"))
    found, sentences = gather(load_aligner(aligner_run / "weights"), collection)
    assert len(found.truth) == len(found.heat) == 2 * len(collection)
    points = hit_points(found, 1.0)
    from seesay.grounding.heat import point_at

    assert 100 * points.mean() == pytest.approx(pointing_game(point_at(found.heat, 1.0), found.truth))
    assert points.mean() > 0.8
    drawn = hit_boxes(found, -0.25, 1.0, 0.6)
    assert 0 <= drawn.mean() <= 1
    assert len(hit_words(sentences, GroundingSettings())) == 3 * len(collection)
    perfect = np.array([boxes[0] for boxes in found.truth])
    assert box_accuracy(perfect, found.truth, several="union") == 100


@pytest.mark.usefixtures("in_colours_cache")
def test_crops_give_finer_maps_of_the_same_phrases(halves: Path, aligner_run: Path) -> None:
    collection = boxed(data.load(halves).split("test"))
    model = load_aligner(aligner_run / "weights")
    whole, closer = (gather(model, collection, side)[0] for side in (0.0, 0.65))
    assert closer.heat.shape[1:] == tuple(2 * n for n in whole.heat.shape[1:])
    assert closer.finer == 2
    assert hit_points(closer, 1.0).mean() > 0.8


def boxed(collection: Collection) -> Collection:
    items = []
    for item in collection.items:
        left, right = item.name.removesuffix(".png").split("_")
        marks = (Phrase(0, 0, 2, f"something {left}", "1", ("other",)), Phrase(0, 3, 4, right, "2", ("other",)))
        items.append(replace(item, boxes=(Box("1", *LEFT), Box("2", *RIGHT)), phrases=marks))
    return replace(collection, items=tuple(items))
