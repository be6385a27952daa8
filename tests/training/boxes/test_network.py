"""The box finder: sums inside of boxes by hand, boxes that stay in the image, answers for any number of phrases."""

import numpy as np
import pytest
import torch

from seesay.metrics.grounding import box_iou
from seesay.training.boxes.network import NARROWEST, BoxFinder, BoxFinderSizes, within_image

SIZES = BoxFinderSizes(side=4, phrase=2, shown=2, rank=4, groups=2, channels=3, hidden=4)


@pytest.fixture
def finder() -> BoxFinder:
    torch.manual_seed(0)
    return BoxFinder(torch.tensor([0.1, 0.2, 0.3]), SIZES).eval()


def test_maps_are_summed_inside_of_boxes_by_area(finder: BoxFinder) -> None:
    maps = torch.zeros(1, 1, 4, 4)
    maps[0, 0, 0, 0] = 16.0  # the whole image sums to 1
    boxes = torch.tensor([[[0, 0, 1, 1], [0, 0, 0.25, 0.25], [0.125, 0, 1, 1], [0.5, 0.5, 1, 1]]])
    assert finder._sums(maps, boxes)[0, :, 0].tolist() == pytest.approx([1.0, 1.0, 0.5, 0.0])


def test_moved_boxes_stay_in_the_image_and_keep_an_area() -> None:
    rng = torch.Generator().manual_seed(0)
    boxes = within_image(3 * torch.rand(500, 4, generator=rng) - 1)
    assert boxes.min() >= 0
    assert boxes.max() <= 1
    assert (boxes[:, 2:] - boxes[:, :2]).min() >= NARROWEST - 1e-6
    inside = torch.tensor([[0.1, 0.2, 0.6, 0.9]])
    assert torch.equal(within_image(inside), inside)


def test_every_phrase_is_answered_for_itself(finder: BoxFinder) -> None:
    rng = torch.Generator().manual_seed(0)
    cells, vectors = torch.randn(3, 4, 4, generator=rng), torch.randn(5, 3, generator=rng)
    with torch.no_grad():
        points, boxes, scores, presence = finder(cells, vectors)
        alone = [finder(cells, vectors[row : row + 1]) for row in range(5)]
    assert (points.shape, boxes.shape, scores.shape, presence.shape) == ((5, 2), (5, 4), (5, 1296), (5,))
    for place, together in enumerate((points, boxes, scores, presence)):
        assert torch.allclose(together, torch.cat([answer[place] for answer in alone]), atol=1e-5)
    assert np.isfinite(boxes.numpy()).all()
    assert within_image(boxes).allclose(boxes)


def test_the_box_begins_with_the_best_window_and_only_gets_better(finder: BoxFinder) -> None:
    rng = torch.Generator().manual_seed(1)
    cells, vectors = torch.randn(3, 4, 4, generator=rng), torch.randn(4, 3, generator=rng)
    with torch.no_grad():
        _, boxes, scores, _ = finder(cells, vectors)
        reached = finder.score(finder.look(cells, vectors), boxes[:, None])[:, 0]
    assert (reached >= scores.amax(1) - 1e-4).all()
    first = finder.windows[scores.argmax(1)]
    assert (boxes - first).abs().max() <= 1 / 16 + 1 / 32 + 1e-6
    assert box_iou(boxes.numpy().astype(np.float64), first.numpy().astype(np.float64)).diagonal().min() > 0.1
