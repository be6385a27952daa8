"""Sentences drawn as trees, next to the regions of their phrases (HM-LSTM Figure 7).

A tree lies on its side: the words stand below each other at the right, the sentence's root is at the left. So a tree of
any sentence is as high as the sentence has words, and fits beside a photo.
"""

from collections.abc import Mapping

from PIL import Image, ImageDraw

from seesay.drawing.overlay import Mark, colour_of, draw_boxes, fit
from seesay.drawing.sheets import INK, PALE, PAPER, Colour, _font
from seesay.errors import SeesayError
from seesay.images.crops import Box
from seesay.text.trees import Tree

_SMOOTH = 3  # drawn larger and then shrunk
_LINE: Colour = (196, 202, 210)


def draw_tree(tree: Tree, colours: Mapping[int, Colour] | None = None, *, size: int = 18) -> Image.Image:
    """Draw a tree; some of its nodes, with all below them, have a colour.

    Args:
        tree: With one word or more.
        colours: By the number of the node in `tree.nodes()`. A node inside another coloured one has its own.
        size: Of the letters, in pixels.

    Example:
        >>> tree = Tree.from_json('["S", ["NP", "a", "dog"], "runs"]')
        >>> drawn = draw_tree(tree, {1: (200, 0, 0)})
        >>> drawn.height > 3 * 18
        True
    """
    nodes = list(tree.nodes())
    if not tree.children:
        raise SeesayError("a sentence without words has no tree to draw", allowed="one word or more")
    own = _inherit(tree, colours or {})
    depths = _depths(tree)
    step, row, unit = 2.6 * size * _SMOOTH, 1.5 * size * _SMOOTH, _SMOOTH
    margin = 0.7 * size * _SMOOTH
    font, small = _font(size * _SMOOTH), _font(round(0.66 * size * _SMOOTH))
    right = margin + step * max(depths)  # where the words begin
    n_words = tree.last - tree.first
    y = [margin + row * ((node.first + node.last - 1) / 2 - tree.first + 0.5) for node in nodes]
    x = [right if node.is_leaf else margin + step * depth for node, depth in zip(nodes, depths, strict=True)]
    longest = max(font.getlength(word) for word in tree.words)
    width, height = right + 0.6 * step + longest + margin, 2 * margin + row * n_words
    sheet = Image.new("RGB", (round(width), round(height)), PAPER)
    pen = ImageDraw.Draw(sheet)
    for number, above in enumerate(_parents(tree)):
        if above >= 0:
            line = own[above] or _LINE
            bend = x[above] + 0.55 * step
            path = [(x[above], y[above]), (bend, y[above]), (bend, y[number]), (x[number] + 0.35 * step, y[number])]
            pen.line(path if above else path[1:], fill=line, width=round(1.6 * unit), joint="curve")
    for number, node in enumerate(nodes):
        colour = own[number]
        if node.is_leaf:
            pen.text((x[number] + 0.5 * step, y[number]), node.word, fill=colour or INK, font=font, anchor="lm")
            continue
        half_wide, half_high = small.getlength(node.label) / 2 + 0.3 * size * _SMOOTH, 0.52 * size * _SMOOTH
        middle = (x[number] + 0.25 * step, y[number])
        edges = (middle[0] - half_wide, middle[1] - half_high, middle[0] + half_wide, middle[1] + half_high)
        marked = colours is not None and number in colours
        pen.rounded_rectangle(edges, half_high, fill=colour if marked else PAPER, outline=colour or _LINE, width=unit)
        pen.text(middle, node.label, fill=PAPER if marked else colour or PALE, font=small, anchor="mm")
    return sheet.resize((round(sheet.width / _SMOOTH), round(sheet.height / _SMOOTH)), Image.Resampling.LANCZOS)


def draw_correspondences(
    image: Image.Image, tree: Tree, boxes: Mapping[int, Box], *, side: int = 560, size: int = 18
) -> Image.Image:
    """An image with a box for each of some phrases, and beside it the sentence's tree in which they have its colour.

    Args:
        image: Any image.
        tree: Of the sentence.
        boxes: By the number of the phrase's node in `tree.nodes()`; the first has the first colour.
        side: Pixels of the image's longer side.
        size: Of the letters of the tree.
    """
    nodes = list(tree.nodes())
    for number in boxes:
        if not 0 <= number < len(nodes) or nodes[number].is_leaf:
            raise SeesayError(f"node {number} is no phrase", allowed=f"an inner node below {len(nodes)}")
    colours = {number: colour_of(place) for place, number in enumerate(boxes)}
    marks = [Mark(box, "", colours[number]) for number, box in boxes.items()]
    picture = draw_boxes(fit(image, side), marks)
    drawn = draw_tree(tree, colours, size=size)
    paper = Image.new("RGB", (picture.width + drawn.width + size, max(picture.height, drawn.height)), PAPER)
    paper.paste(picture, (0, (paper.height - picture.height) // 2))
    paper.paste(drawn, (picture.width + size, (paper.height - drawn.height) // 2))
    return paper


def _parents(tree: Tree) -> list[int]:
    """The node above each, in the order of `Tree.nodes`; -1 for the root."""
    parents: list[int] = []
    waiting = [(tree, -1)]
    while waiting:
        node, above = waiting.pop()
        waiting.extend((child, len(parents)) for child in reversed(node.children))
        parents.append(above)
    return parents


def _depths(tree: Tree) -> list[int]:
    """How far below the root each node is."""
    depths: list[int] = []
    for above in _parents(tree):
        depths.append(depths[above] + 1 if above >= 0 else 0)
    return depths


def _inherit(tree: Tree, colours: Mapping[int, Colour]) -> list[Colour | None]:
    """The colour of each node: its own, or that of the nearest coloured one above."""
    found: list[Colour | None] = []
    for number, above in enumerate(_parents(tree)):
        found.append(colours.get(number, found[above] if above >= 0 else None))
    return found
