"""Boxes cover what they promise; pooling over them is exact."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from seesay.errors import SeesayError
from seesay.images.regions import fixed_regions, region_weights, selective_search, whole_and_grid, windows

WHOLE = [0.0, 0.0, 1.0, 1.0]


def assert_valid(boxes: np.ndarray, n: int) -> None:
    assert boxes.shape == (n, 4)
    assert boxes.dtype == np.float32
    assert boxes[0].tolist() == WHOLE
    assert (boxes >= 0).all()
    assert (boxes <= 1).all()
    assert (boxes[:, :2] < boxes[:, 2:]).all()
    assert len(np.unique(boxes, axis=0)) == n


def iou(first: np.ndarray, second: np.ndarray) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    overlap = max(width, 0) * max(height, 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return float(overlap / (areas - overlap))


def scene() -> Image.Image:
    """A red disc and a blue bar on white."""
    image = Image.new("RGB", (400, 300), "white")
    draw = ImageDraw.Draw(image)
    draw.ellipse((40, 60, 160, 180), fill="red")
    draw.rectangle((240, 120, 360, 260), fill="blue")
    return image


def test_a_grid_tiles_the_picture_row_by_row() -> None:
    boxes = whole_and_grid(3, 4)
    assert_valid(boxes, 13)
    cells = boxes[1:]
    assert ((cells[:, 2:] - cells[:, :2]).prod(axis=1)).sum() == pytest.approx(1)
    np.testing.assert_allclose(cells[5], [0.25, 1 / 3, 0.5, 2 / 3], rtol=1e-6)


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (-1, 2)])
def test_an_empty_grid_is_refused(rows: int, columns: int) -> None:
    with pytest.raises(SeesayError, match=f"{rows} x {columns}"):
        whole_and_grid(rows, columns)


def test_fewer_windows_are_the_first_of_more() -> None:
    many = windows(60)
    assert_valid(many, 60)
    for n in (1, 10, 20):
        np.testing.assert_array_equal(windows(n), many[:n])


def test_windows_come_in_many_sizes_and_shapes() -> None:
    sides = windows(20)[:, 2:] - windows(20)[:, :2]
    area, aspect = sides.prod(axis=1), sides[:, 0] / sides[:, 1]
    assert area.min() < 0.15
    assert np.quantile(area, 0.75) > 0.25
    assert (aspect > 1.5).sum() >= 3
    assert (aspect < 1 / 1.5).sum() >= 3


def test_windows_reach_every_spot_with_something_smaller_than_the_picture() -> None:
    assert (region_weights(windows(50)[1:], 8, 8) > 0).any(axis=0).all()


def test_windows_that_the_caller_changes_are_the_callers_own() -> None:
    windows(7)[:] = 0
    assert windows(7)[0].tolist() == WHOLE


@pytest.mark.parametrize("n", [0, -3, 1297])
def test_impossible_numbers_of_regions_are_refused(n: int) -> None:
    with pytest.raises(SeesayError, match=f"{n} windows"):
        windows(n)
    with pytest.raises(SeesayError, match=f"{n} regions"):
        selective_search(scene(), n)


def test_selective_search_finds_the_things_in_a_simple_scene() -> None:
    boxes = selective_search(scene(), 20)
    assert_valid(boxes, 20)
    disc, bar = np.array([0.1, 0.2, 0.4, 0.6]), np.array([0.6, 0.4, 0.9, 260 / 300])
    assert max(iou(box, disc) for box in boxes) > 0.85
    assert max(iou(box, bar) for box in boxes) > 0.85


def test_selective_search_is_deterministic_and_nested() -> None:
    noisy = Image.blend(scene(), Image.effect_noise((400, 300), 90).convert("RGB"), 0.3)
    boxes = selective_search(noisy, 40)
    np.testing.assert_array_equal(selective_search(noisy, 40), boxes)
    np.testing.assert_array_equal(selective_search(noisy, 10), boxes[:10])


def test_selective_search_gives_no_box_twice(shared_data: Path) -> None:
    photo = min((shared_data / "flickr8k" / "Flicker8k_Dataset").glob("*.jpg"))
    boxes = selective_search(Image.open(photo), 50)
    assert_valid(boxes, 50)
    assert max(iou(first, second) for i, first in enumerate(boxes) for second in boxes[:i]) < 0.9


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (3, 2), (300, 200)])
def test_a_picture_without_proposals_is_filled_with_windows(size: tuple[int, int]) -> None:
    boxes = selective_search(Image.new("RGB", size, "grey"), 20)
    np.testing.assert_array_equal(boxes, windows(20))


@given(
    cells=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    corners=st.tuples(*[st.integers(0, 59)] * 2, *[st.integers(1, 60)] * 2).filter(
        lambda box: box[0] < box[2] and box[1] < box[3]
    ),
)
def test_region_weights_equal_counting_in_a_finer_grid(
    cells: tuple[int, int], corners: tuple[int, int, int, int]
) -> None:
    height, width = cells
    left, top, right, bottom = corners
    fine = np.zeros((60, 60))  # 60 is a multiple of every map side from 1 to 6, so the count is exact
    fine[top:bottom, left:right] = 1
    counted = fine.reshape(height, 60 // height, width, 60 // width).sum(axis=(1, 3))
    weights = region_weights(np.array([corners]) / 60, height, width)
    np.testing.assert_allclose(weights[0], (counted / counted.sum()).ravel(), atol=1e-6)


def test_region_weights_of_any_box_approach_a_super_sampled_average() -> None:
    rng = np.random.default_rng(0)
    near, far = np.sort(rng.random((2, 200, 2)), axis=0)
    features = rng.random((7, 9))
    pooled = region_weights(np.concatenate([near, far], axis=1), 7, 9) @ features.ravel()
    steps = (np.arange(400) + 0.5) / 400
    for (left, top), (right, bottom), value in zip(near, far, pooled, strict=True):
        x = ((left + steps * (right - left)) * 9).astype(int)
        y = ((top + steps * (bottom - top)) * 7).astype(int)
        assert value == pytest.approx(features[np.ix_(y, x)].mean(), abs=3e-3)


def test_region_weights_sum_to_one_and_keep_the_order_of_boxes() -> None:
    boxes = np.concatenate([windows(50), whole_and_grid(3, 5)])
    weights = region_weights(boxes, 14, 10)
    assert weights.shape == (66, 140)
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(weights[0], 1 / 140, rtol=1e-6)


def test_a_box_smaller_than_a_cell_takes_the_value_of_that_cell() -> None:
    weights = region_weights([[0.51, 0.01, 0.52, 0.02], [1 - 1e-9, 1 - 1e-9, 1, 1]], 3, 4)
    assert weights.argmax(axis=1).tolist() == [2, 11]
    np.testing.assert_allclose(weights.max(axis=1), 1)


def test_no_boxes_give_no_rows() -> None:
    assert region_weights(np.zeros((0, 4)), 3, 4).shape == (0, 12)


@pytest.mark.parametrize(
    "box",
    [[-0.1, 0, 1, 1], [0, 0, 1.01, 1], [0.5, 0, 0.5, 1], [0, 0.9, 1, 0.1], [0, 0, float("nan"), 1], [0, 0, 500, 375]],
)
def test_boxes_outside_or_empty_are_refused_by_row(box: list[float]) -> None:
    with pytest.raises(SeesayError, match="box 1 is"):
        region_weights([WHOLE, box], 2, 2)


def test_float32_rounding_at_the_border_is_no_reason_to_refuse() -> None:
    weights = region_weights(np.array([[0, 0, np.nextafter(np.float32(1), np.float32(2)), 1]], np.float32), 1, 2)
    np.testing.assert_allclose(weights, [[0.5, 0.5]], atol=1e-6)


@pytest.mark.parametrize(("boxes", "height"), [([0, 0, 1, 1], 2), ([[0, 0, 1]], 2), ([WHOLE], 0)])
def test_wrong_shapes_are_refused(boxes: list, height: int) -> None:
    with pytest.raises(SeesayError, match=r"shape|0 x 2 cells"):
        region_weights(boxes, height, 2)


def test_a_scheme_is_known_by_its_name() -> None:
    assert fixed_regions("whole").tolist() == [WHOLE]
    assert fixed_regions("windows-20").tolist() == windows(20).tolist()
    assert fixed_regions("grid-3x5").tolist() == whole_and_grid(3, 5).tolist()


@pytest.mark.parametrize("scheme", ["", "windows", "windows-x", "windows-20-30", "grid-3", "Whole", "windows-20\n"])
def test_an_unknown_scheme_is_answered_with_the_known_ones(scheme: str) -> None:
    with pytest.raises(SeesayError, match=r"no region scheme .*\n  allowed: whole, windows-N, grid-RxC"):
        fixed_regions(scheme)
