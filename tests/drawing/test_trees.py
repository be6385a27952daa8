"""Trees lie on their side, and phrases have the colours of their boxes."""

import numpy as np
import pytest
from PIL import Image

from seesay.drawing.overlay import PALETTE
from seesay.drawing.sheets import PAPER
from seesay.drawing.trees import draw_correspondences, draw_tree
from seesay.errors import SeesayError
from seesay.text.trees import Tree

TREE = Tree.from_json('["S", ["NP", ["NP", "a", "boy"], ["PP", "in", ["NP", "blue", "shorts"]]], ["VP", "jumps"]]')
INNER = [place for place, node in enumerate(TREE.nodes()) if node.is_noun_phrase]


def rows_of(picture: Image.Image, colour: tuple[int, int, int], tolerance: int = 20) -> np.ndarray:
    """Which rows of a picture have a colour."""
    return np.flatnonzero((np.abs(np.asarray(picture, int) - colour) <= tolerance).all(axis=2).any(axis=1))


def test_a_tree_has_a_line_for_every_word() -> None:
    short, long = draw_tree(Tree.from_json('["S", "jumps"]')), draw_tree(TREE)
    assert long.height - short.height == pytest.approx(5 * 1.5 * 18, abs=2)
    assert long.width > short.width
    assert long.getpixel((0, 0)) == PAPER


def test_a_coloured_phrase_is_coloured_down_to_its_words_and_no_further() -> None:
    boy = next(place for place, node in enumerate(TREE.nodes()) if node.span == (0, 2))
    picture = draw_tree(TREE, {boy: (200, 0, 0)})
    line = (picture.height - 2 * 0.7 * 18) / 6
    rows = rows_of(picture, (200, 0, 0), 60)
    assert rows.min() < 0.7 * 18 + line
    assert 0.7 * 18 + line < rows.max() < 0.7 * 18 + 2 * line


def test_a_phrase_inside_another_keeps_its_own_colour() -> None:
    outer, inner = INNER[0], INNER[-1]
    picture = draw_tree(TREE, {outer: (200, 0, 0), inner: (0, 0, 200)})
    red, blue = rows_of(picture, (200, 0, 0), 60), rows_of(picture, (0, 0, 200), 60)
    assert red.min() < blue.min()
    line = (picture.height - 2 * 0.7 * 18) / 6
    assert blue.min() > 0.7 * 18 + 2.5 * line


def test_boxes_and_phrases_share_their_colours_side_by_side() -> None:
    photo = Image.new("RGB", (200, 100), (90, 90, 90))
    boxes = {INNER[1]: (0.1, 0.1, 0.4, 0.9), INNER[2]: (0.5, 0.2, 0.9, 0.8)}
    drawn = draw_correspondences(photo, TREE, boxes, side=300)
    left, right = drawn.crop((0, 0, 300, drawn.height)), drawn.crop((300, 0, drawn.width, drawn.height))
    for place in range(2):
        assert len(rows_of(left, PALETTE[place]))
        assert len(rows_of(right, PALETTE[place]))
        assert not len(rows_of(left, PALETTE[2]))


@pytest.mark.parametrize("number", [-1, 99, 3])
def test_a_word_or_a_node_that_is_not_there_gets_no_box(number: int) -> None:
    with pytest.raises(SeesayError, match=f"node {number} is no phrase"):
        draw_correspondences(Image.new("RGB", (50, 50)), TREE, {number: (0, 0, 1, 1)})


def test_a_sentence_without_words_is_refused() -> None:
    with pytest.raises(SeesayError, match="without words"):
        draw_tree(Tree("S", 0, 0))
