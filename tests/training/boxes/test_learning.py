"""Boxes are learned: where the heat of a thing is only its upper half, the whole of it is drawn after learning."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from seesay.grounding.cells import heat_from
from seesay.grounding.heat import box_overlaps
from seesay.images.regions import windows
from seesay.metrics.grounding import box_iou
from seesay.training.boxes.examples import BoxedPhoto, covered
from seesay.training.boxes.learning import iou, learn, losses_of
from seesay.training.boxes.network import BoxFinder, BoxFinderSizes

SIDE = 8
SIZES = BoxFinderSizes(side=SIDE, phrase=2, shown=2, rank=4, groups=2, channels=8, hidden=8)
COMMON = torch.tensor([0.1, 0.1, 0.1])


def photo(rng: np.random.Generator) -> BoxedPhoto:
    """A thing whose upper half alone is hot for the phrase."""
    left, top = rng.integers(0, 4, 2)
    cells = rng.normal(0, 0.05, (3, SIDE, SIDE)).astype(np.float32)
    cells[0, top : top + 2, left : left + 4] += 1.0
    box = np.array([[left, top, left + 4, top + 4]]) / SIDE
    return BoxedPhoto(
        Path("photo.jpg"), cast(Any, [cells]), 0, torch.tensor([[1.0, 0.0, 0.0]]), [box],
        torch.tensor(box, dtype=torch.float32), torch.ones(1), torch.tensor([[0.0, 1.0, 0.0]]), True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def learned() -> tuple[BoxFinder, list[str]]:
    rng, told = np.random.default_rng(0), list[str]()
    photos = [photo(rng) for _ in range(96)]
    return learn(photos, COMMON, SIZES, epochs=8, tell=told.append), told


def overlaps(finder: BoxFinder, photos: list[BoxedPhoto]) -> np.ndarray:
    with torch.no_grad():
        boxes = [finder(each.cells, each.vectors)[1] for each in photos]
    return np.array([float(iou(box[:, None], each.around)[0, 0]) for box, each in zip(boxes, photos, strict=True)])


def test_what_is_learned_is_better_than_heat_on_other_photos(learned: tuple[BoxFinder, list[str]]) -> None:
    rng = np.random.default_rng(1)
    others = [photo(rng) for _ in range(40)]
    candidates = windows(1296)
    by_heat = []
    for each in others:
        heat = heat_from(each.cells.numpy(), each.vectors.numpy())
        chosen = candidates[box_overlaps(heat, candidates).argmax(1)].astype(np.float64)
        by_heat.append(box_iou(chosen, each.boxes[0])[0, 0])
    found = overlaps(learned[0], others)
    assert (found >= 0.5).mean() > 0.9
    assert found.mean() > np.mean(by_heat) + 0.1


def test_the_loss_falls_and_is_told(learned: tuple[BoxFinder, list[str]]) -> None:
    losses = [float(line.rsplit(" ", 1)[1]) for line in learned[1]]
    assert len(losses) == 8
    assert losses[-1] < losses[0]
    assert learned[1][0].startswith("boxes: epoch 1 of 8")


def test_a_phrase_of_another_photo_is_less_likely_to_be_there(learned: tuple[BoxFinder, list[str]]) -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        each = photo(rng)
        with torch.no_grad():
            own, foreign = learned[0](each.cells, torch.cat([each.vectors, each.foreign]))[3].tolist()
        assert own > foreign


def test_the_same_photos_and_seed_give_the_same_finder() -> None:
    rng = np.random.default_rng(3)
    photos = [photo(rng) for _ in range(8)]
    one, other = (learn(photos, COMMON, SIZES, epochs=1, seed=5) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_a_mirror_image_has_its_box_on_the_other_side() -> None:
    torch.manual_seed(0)
    finder = BoxFinder(COMMON, SIZES)
    each = photo(np.random.default_rng(4))
    for mirror in (False, True):
        found = losses_of(finder, each, mirror=mirror)
        assert found.weight == 1
        assert torch.isfinite(found.total)
        assert torch.isfinite(found.presence)


def test_places_are_covered_by_any_box_and_boxes_overlap_their_own() -> None:
    assert covered(np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]), 2).tolist() == [[1, 0], [0, 1]]
    boxes = torch.tensor([[[0, 0, 0.5, 1.0], [0, 0, 1, 1], [0.5, 0, 1, 1]]])
    assert iou(boxes, torch.tensor([[0, 0, 0.5, 1.0]])).tolist() == [[1.0, 0.5, 0.0]]
