"""Drawings of explanations: tints grow with weights, the sentence stands below, and rows are complete."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from seesay.drawing.saliency import draw_explanation, draw_identification, draw_steps, draw_weighted_words
from seesay.explainers.explanation import Explanation, Step

PHOTO = Image.new("RGB", (90, 60), (90, 140, 200))


def explanation(weights: tuple[float, ...] = (0.0, 0.6, 0.1)) -> Explanation:
    heat = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return Explanation(
        "contrastive", ("a", "dog", "runs")[: len(weights)], np.array(weights), heat, 1.0, probability=0.8
    )


def strongest_tint(words: list[str], weights: list[float]) -> float:
    """How far from white the background of a strip gets, letters aside: over pixels that are no shade of grey."""
    pixels = np.asarray(draw_weighted_words(words, weights, 300)).astype(int)
    return float((pixels[..., 0] - pixels[..., 2]).max())


def test_a_word_stands_on_a_tint_that_grows_with_its_weight() -> None:
    pixels = np.asarray(draw_weighted_words(["mm", "mm", "mm"], [0.1, 0.5, 1.0], 300)).astype(int)
    warmth = (pixels[..., 0] - pixels[..., 2]).max(axis=0)  # by column
    thirds = [warmth[warmth.nonzero()[0].min() + offset] for offset in (8, 60, 110)]
    assert thirds[0] < thirds[1] < thirds[2]


def test_words_without_weight_stand_on_white() -> None:
    assert strongest_tint(["a", "dog"], [0.0, 0.0]) < 5  # ink is not quite grey
    assert strongest_tint(["a", "dog"], [0.0, 0.2]) > 100  # the heaviest has the full tint, whatever it weighs


def test_a_long_sentence_is_broken_into_lines() -> None:
    short, long = (draw_weighted_words(["word"] * n, [1.0] * n, 200) for n in (2, 12))
    assert short.width == long.width == 200
    assert long.height > 2 * short.height


def test_the_sentence_stands_below_a_picture_that_glows_where_the_map_is_hot() -> None:
    drawn = draw_explanation(PHOTO, explanation(), side=300)
    assert drawn.width == 300
    assert drawn.height > 200
    hot, cold = (np.asarray(drawn).astype(int)[y, x] for y, x in ((150, 270), (50, 30)))
    assert hot[0] - hot[2] > cold[0] - cold[2] + 50


def test_every_step_is_a_picture_and_every_explanation_a_row() -> None:
    steps = tuple(Step(np.eye(2)[place : place + 1], np.array([0.2, 0.5, 0.3])) for place in (0, 1))
    found = replace(explanation(), steps=steps)
    one = draw_steps(PHOTO, [found], width=120)
    two = draw_steps(PHOTO, [found, found], ["with", "without"], width=120)
    assert two.height > 1.7 * one.height
    assert two.width > one.width > 2 * 120
    pixels = np.asarray(one).astype(int)
    warm = (pixels[..., 0] - pixels[..., 2] > 60).any(axis=0).nonzero()[0]  # columns
    left, right = warm[warm < one.width / 2], warm[warm > one.width / 2]
    assert left.mean() < one.width / 4  # the first step looks at the left half of its picture, the second at the right
    assert right.mean() > 3 * one.width / 4


@pytest.mark.parametrize("n", [1, 3])
def test_a_sheet_has_a_row_for_each_picture(n: int) -> None:
    sheet = draw_identification([PHOTO] * n, [explanation()] * n, ["90 %"] * n, title="a dog runs", width=120)
    rows = np.asarray(sheet).astype(int)
    is_photo = (np.abs(rows - np.array([90, 140, 200])).max(axis=2) < 8).any(axis=1)
    assert np.count_nonzero(np.diff(is_photo.astype(int)) == 1) == n
