"""Where phrases are in one image: their heat, the point and the boxes of each.

Weights that have learned boxes (`seesay.grounding.learned`) point and draw by what they have learned, unless regions to
choose from are given. Others point at the hottest place, and draw the region that overlaps what is hot best.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seesay.grounding.cells import Cells, cells_of, heat_from
from seesay.grounding.closer import Closer, heat_of, points_of
from seesay.grounding.heat import Floats, best_boxes, box_overlaps
from seesay.grounding.learned import LearnedBoxes
from seesay.grounding.tuned import grounding_of
from seesay.images.arrays import ImageFeatures
from seesay.images.regions import Boxes
from seesay.runtime.protocol import Answering


@dataclass(frozen=True, eq=False)
class Located:
    """Of n phrases in one image.

    Attributes:
        heat: (n, h, w)
        points: (n, 2)
        boxes: For each phrase its best boxes, (n_boxes, 4), the best first.
        presence: (n,) what learned boxes say of whether the image shows a phrase; None without any.
    """

    heat: Floats
    points: Floats
    boxes: list[Floats]
    presence: Floats | None = None


def locate_freely(model: Answering, learned: LearnedBoxes, closer: Closer, vectors: Cells, n: int = 1) -> Located:
    """Boxes as a model has learned to draw them.

    Args:
        closer: The crops of the image.
        vectors: (n_phrases, D) of phrases, each read for itself.
        n: Boxes for each.
    """
    cells = cells_of(model, closer)
    found = learned.find(cells, vectors)
    boxes = [found.best(row, n) for row in range(len(vectors))]
    return Located(heat_from(cells, vectors), found.points, boxes, found.presence)


def locate_among(
    model: Answering,
    features: ImageFeatures,
    closer: Closer | None,
    locate: Callable[[ImageFeatures], Floats],
    regions: Boxes,
    n: int = 1,
) -> Located:
    """Boxes among given regions, by heat.

    Args:
        locate: The heat of the phrases from the features of the image, or of a crop.
    """
    how = grounding_of(model)
    heat = heat_of(features, closer, locate)
    chosen: Sequence[Floats] = [
        regions[best_boxes(overlaps, regions, n)].astype(float) for overlaps in box_overlaps(heat, regions, **how.rule)
    ]
    return Located(heat, points_of(heat, how, closer), list(chosen))
