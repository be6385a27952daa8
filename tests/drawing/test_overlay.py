"""What is drawn on pictures stands where it should, in its colour, and nothing else is touched."""

import numpy as np
import pytest
from PIL import Image

from seesay.drawing.overlay import (
    PALETTE,
    Mark,
    Word,
    colour_of,
    draw_alignment,
    draw_boxes,
    draw_heat,
    draw_sentence,
    fit,
)
from seesay.drawing.sheets import PAPER
from seesay.errors import SeesayError
from seesay.images.crops import cut_out


def grey(width: int = 200, height: int = 120) -> Image.Image:
    return Image.new("RGB", (width, height), (90, 90, 90))


def near(picture: Image.Image, colour: tuple[int, int, int], tolerance: int = 12) -> np.ndarray:
    """(H, W), where a picture has a colour."""
    return (np.abs(np.asarray(picture, int) - colour) <= tolerance).all(axis=2)


class TestBoxes:
    def test_a_box_is_a_line_around_its_place_and_leaves_the_rest_alone(self) -> None:
        picture = grey()
        drawn = draw_boxes(picture, [Mark((0.25, 0.25, 0.75, 0.75), colour=PALETTE[1])])
        rows, columns = np.nonzero(near(drawn, PALETTE[1]))
        assert (columns.min(), columns.max()) == pytest.approx((50, 149), abs=1)
        assert (rows.min(), rows.max()) == pytest.approx((30, 89), abs=1)
        changed = (np.asarray(drawn) != 90).any(axis=2)
        assert not changed[36:84, 56:144].any()
        assert not changed[:27].any()
        assert picture.getpixel((50, 60)) == (90, 90, 90)

    def test_a_box_at_the_border_stays_inside_the_picture(self) -> None:
        drawn = near(draw_boxes(grey(), [Mark((0, 0, 1, 1), colour=PALETTE[2])]), PALETTE[2], 60)
        assert drawn[60, 0]
        assert drawn[60, -1]
        assert drawn[0, 100]
        assert drawn[-1, 100]

    def test_a_label_stands_above_its_box_in_the_same_colour(self) -> None:
        with_label, without = (
            near(draw_boxes(grey(), [Mark((0.2, 0.5, 0.6, 0.9), label)]), PALETTE[0]) for label in ("a dog", "")
        )
        rows, _ = np.nonzero(with_label & ~without)
        assert rows.max() <= 62
        assert rows.min() >= 35

    def test_labels_of_one_place_do_not_cover_each_other(self) -> None:
        marks = [Mark((0.3, 0.4, 0.7, 0.8), "a brown dog", colour_of(place)) for place in (0, 1, 2)]
        drawn = draw_boxes(grey(400, 300), marks)
        for mark in marks[:2]:
            assert (
                near(drawn, mark.colour).sum() > 0.5 * near(draw_boxes(grey(400, 300), [mark]), mark.colour).sum() / 2
            )

    def test_a_smaller_box_is_never_hidden(self) -> None:
        small, large = Mark((0, 0, 0.5, 0.5), colour=PALETTE[0]), Mark((0, 0, 1, 1), colour=PALETTE[1])
        for marks in ([small, large], [large, small]):
            assert near(draw_boxes(grey(), marks), PALETTE[0])[20, 0:3].any()

    @pytest.mark.parametrize("box", [(0.5, 0, 0.5, 1), (-0.1, 0, 1, 1), (0, 0, 1, 1.2), (0, 0.9, 1, 0.1)])
    def test_a_box_outside_or_without_area_is_refused(self, box: tuple[float, ...]) -> None:
        with pytest.raises(SeesayError, match="a box at"):
            draw_boxes(grey(), [Mark(box)])


class TestSentences:
    def test_words_stand_on_paper_as_wide_as_asked_for(self) -> None:
        strip = draw_sentence([Word("a"), Word("dog", PALETTE[1])], 300)
        assert strip.width == 300
        assert near(strip, PAPER).mean() > 0.7

    def test_only_words_with_a_place_are_coloured(self) -> None:
        plain, coloured = (np.asarray(draw_sentence([Word("dog", colour)], 300), int) for colour in (None, PALETTE[1]))
        saturation = [(strip.max(axis=2) - strip.min(axis=2)).max() for strip in (plain, coloured)]
        assert saturation[0] < 30
        assert saturation[1] > 80

    def test_neighbours_of_one_colour_share_one_tint(self) -> None:
        words = [Word("red", PALETTE[1]), Word("ball", PALETTE[1])]
        joined = draw_sentence(words, 300)
        apart = draw_sentence([words[0], Word("ball", PALETTE[2])], 300)
        tint = tuple(round(255 - 0.17 * (255 - part)) for part in PALETTE[1])
        row = joined.height // 2 - 8
        columns = np.flatnonzero(near(joined, tint, 3)[row])
        assert np.diff(columns).max() < 12  # letters interrupt it, no gap does
        assert near(apart, tint, 3)[row].sum() < len(columns)

    def test_a_long_sentence_takes_more_lines(self) -> None:
        short, long = (draw_sentence([Word("word")] * n, 300) for n in (2, 40))
        assert long.height > 3 * short.height

    def test_a_word_that_is_too_long_ends_with_dots_inside_the_strip(self) -> None:
        strip = draw_sentence([Word("w" * 300, PALETTE[0])], 200)
        assert near(strip, PAPER)[:, -3:].all()

    def test_too_narrow_a_strip_is_refused(self) -> None:
        with pytest.raises(SeesayError, match="a strip of 30 pixels"):
            draw_sentence([Word("dog")], 30)


def test_an_alignment_is_the_picture_with_its_sentence_below() -> None:
    marks = [Mark((0.2, 0.2, 0.5, 0.8), "dog", colour_of(0))]
    bare = draw_alignment(grey(), marks, [], side=400)
    assert bare.size == (400, 240)
    whole = draw_alignment(grey(), marks, [Word("a"), Word("dog", colour_of(0))], side=400)
    assert whole.width == 400
    assert whole.height > 240
    assert whole.crop((0, 0, 400, 240)).tobytes() == bare.tobytes()


class TestHeat:
    def test_a_cold_picture_turns_pale_and_nothing_glows(self) -> None:
        picture = Image.new("RGB", (40, 30), (200, 100, 50))
        cold = np.asarray(draw_heat(picture, np.zeros((3, 4))), int)
        assert (cold.max(axis=2) - cold.min(axis=2)).max() < 150
        assert np.ptp(cold.reshape(-1, 3), axis=0).max() == 0

    def test_the_hot_place_is_the_brightest(self) -> None:
        heat = np.zeros((3, 4))
        heat[0, 3] = 1
        glow = np.asarray(draw_heat(Image.new("RGB", (80, 60), (40, 40, 40)), heat), int).sum(axis=2)
        row, column = np.unravel_index(glow.argmax(), glow.shape)
        assert row < 20
        assert column > 60

    @pytest.mark.parametrize("heat", [np.zeros(3), np.zeros((0, 2)), np.full((2, 2), np.nan)])
    def test_what_is_no_map_is_refused(self, heat: np.ndarray) -> None:
        with pytest.raises(SeesayError, match="a heat map of shape"):
            draw_heat(grey(), heat)


def test_a_picture_is_fitted_by_its_longer_side() -> None:
    assert fit(grey(200, 100), 50).size == (50, 25)
    assert fit(Image.new("L", (3, 600)), 300).size == (2, 300)


def test_what_is_cut_out_is_what_the_box_covers() -> None:
    picture = Image.new("RGB", (100, 50), "black")
    picture.paste((255, 255, 255), (50, 0, 100, 25))
    part = cut_out(picture, (0.5, 0, 1, 0.5))
    assert part.size == (50, 25)
    assert near(part, (255, 255, 255)).all()
    assert cut_out(picture, (1 - 1e-6, 1 - 1e-6, 1, 1)).size == (1, 1)
