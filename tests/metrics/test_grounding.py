import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from seesay.errors import SeesayError
from seesay.metrics.grounding import (
    box_accuracy,
    box_iou,
    grounding_report,
    peaks,
    pointing_game,
    region_phrase_report,
)

examples = settings(deadline=None, max_examples=40)
corners = st.floats(0, 1, width=32)
some_boxes = arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(4)), elements=corners).map(
    lambda raw: np.concatenate([np.minimum(raw[:, :2], raw[:, 2:]), np.maximum(raw[:, :2], raw[:, 2:])], axis=1)
)


def test_iou_by_hand() -> None:
    first = [[0.0, 0.0, 0.4, 0.4]]
    second = [[0.0, 0.0, 0.4, 0.4], [0.2, 0.2, 0.6, 0.6], [0.4, 0.0, 0.8, 0.4], [0.1, 0.1, 0.3, 0.3]]
    np.testing.assert_allclose(box_iou(first, second), [[1.0, 1 / 7, 0.0, 0.25]])


def test_a_box_without_area_overlaps_nothing() -> None:
    assert box_iou([[0.2, 0.2, 0.2, 0.8]], [[0.2, 0.2, 0.2, 0.8], [0.0, 0.0, 1.0, 1.0]]).tolist() == [[0.0, 0.0]]


@examples
@given(some_boxes, some_boxes)
def test_iou_is_symmetric_and_between_zero_and_one(first: np.ndarray, second: np.ndarray) -> None:
    iou = box_iou(first, second)
    np.testing.assert_allclose(iou, box_iou(second, first).T)
    assert ((iou >= 0) & (iou <= 1 + 1e-12)).all()
    has_area = (first[:, 2] - first[:, 0]) * (first[:, 3] - first[:, 1]) > 0
    np.testing.assert_allclose(np.diag(box_iou(first, first)), has_area.astype(float))


def test_pointing_hits_any_box_of_the_phrase_and_its_border() -> None:
    boxes = [[[0.0, 0.0, 0.2, 0.2], [0.5, 0.5, 0.8, 0.8]]] * 4
    points = [[0.6, 0.6], [0.2, 0.1], [0.3, 0.3], [0.6, 0.1]]
    assert pointing_game(points, boxes) == 50.0
    assert pointing_game(points, boxes, margin=0.11) == 75.0


def test_report_has_the_stable_keys() -> None:
    report = grounding_report([[0.1, 0.1], [0.9, 0.9]], [[0, 0, 1, 1], [0, 0, 0.5, 0.5]], [[[0, 0, 0.5, 1]]] * 2)
    assert report == {"pointing": 50.0, "iou50": 100.0}


def test_an_iou_of_exactly_one_half_counts() -> None:
    assert box_accuracy([[0, 0, 1, 1]], [[[0, 0, 0.5, 1]]]) == 100.0
    assert box_accuracy([[0, 0, 1, 1]], [[[0, 0, 0.5, 1]]], threshold=0.51) == 0.0


def test_several_boxes_are_met_by_any_or_by_the_box_around_all() -> None:
    boxes = [[[0.0, 0.0, 0.3, 1.0], [0.7, 0.0, 1.0, 1.0]], [[0.0, 0.0, 0.1, 0.1]]]
    one_of_them, around = [[0.7, 0.0, 1.0, 1.0], [0, 0, 0.1, 0.1]], [[0.0, 0.0, 1.0, 1.0], [0, 0, 0.1, 0.1]]
    assert box_accuracy(one_of_them, boxes) == 100.0
    assert box_accuracy(one_of_them, boxes, several="union") == 50.0
    assert box_accuracy(around, boxes) == 50.0
    assert box_accuracy(around, boxes, several="union") == 100.0


def test_peaks_are_cell_centres_and_first_in_reading_order_when_tied() -> None:
    maps = np.zeros((2, 2, 4))
    maps[0, 1, 3] = 1.0
    assert peaks(maps).tolist() == [[0.875, 0.75], [0.125, 0.25]]


def test_region_phrase_ranking_by_hand() -> None:
    scores = [
        [0.9, 0.1, 0.8],  # region 0 is named by phrases 1 and 2: one wrong one before
        [0.2, 0.7, 0.3],  # region 1 is named by phrase 2: one wrong one before
        [0.5, 0.6, 0.4],  # region 2 is named by nothing: a rival, no query
    ]
    report = region_phrase_report(scores, [[0, 1], [0, 2], [1, 2]])
    assert report["region_to_phrase"] == {"r1": 0.0, "r5": 100.0, "r10": 100.0, "median": 2.0, "mean": 2.0}
    assert report["phrase_to_region"] == {"r1": 50.0, "r5": 100.0, "r10": 100.0, "median": 2.0, "mean": 2.0}


@examples
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 1000))
def test_region_phrase_ranks_equal_a_naive_loop(n_regions: int, n_phrases: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (n_regions, n_phrases)).astype(float)
    belongs = rng.random((n_regions, n_phrases)) < 0.3
    belongs[0, 0] = True
    report = region_phrase_report(scores, np.argwhere(belongs))
    for key, rows, own in (("region_to_phrase", scores, belongs), ("phrase_to_region", scores.T, belongs.T)):
        expected = [
            sum(not mine and score >= max(row[its]) for score, mine in zip(row, its, strict=True))
            for row, its in zip(rows, own, strict=True)
            if its.any()
        ]
        assert report[key]["mean"] == pytest.approx(np.mean(expected) + 1)  # type: ignore[literal-required]
        assert report[key]["r1"] == pytest.approx(100 * np.mean(np.array(expected) == 0))  # type: ignore[literal-required]


def test_constant_region_scores_rank_last() -> None:
    report = region_phrase_report(np.ones((20, 30)), [[i, i] for i in range(20)])
    assert report["region_to_phrase"]["median"] == 30
    assert report["phrase_to_region"]["r10"] == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: box_iou([[0.5, 0, 0.2, 1]], [[0, 0, 1, 1]]), "box 0 is \\[0.5"),
        (lambda: box_iou([[0, 0, np.nan, 1]], [[0, 0, 1, 1]]), "box 0 is"),
        (lambda: box_iou([[0, 0, 1]], [[0, 0, 1, 1]]), "shape \\(1, 3\\)"),
        (lambda: pointing_game([[0, 0]], []), "the boxes of 0 phrases for 1 answers"),
        (lambda: pointing_game([[0, 0], [0, 0]], [[[0, 0, 1, 1]], []]), "phrase 1 has no box"),
        (lambda: pointing_game([[np.nan, 0]], [[[0, 0, 1, 1]]]), "points of shape"),
        (lambda: pointing_game([[0, 0]], [[[0, 0, 1, 1]]], margin=-1), "margin of -1"),
        (lambda: box_accuracy([[0, 0, 1, 1]], [[[0, 0, 1, 1]]], several="all"), "no way 'all'"),
        (lambda: box_accuracy([[0, 0, 1, 1]], [[[0, 0, 1, 1]]], threshold=0), "threshold of 0"),
        (lambda: region_phrase_report([[1.0]], np.zeros((0, 2), int)), "shape \\(0, 2\\)"),
        (lambda: region_phrase_report([[1.0]], [[0, 1]]), "phrases of correct holds 1"),
        (lambda: region_phrase_report([[np.nan]], [[0, 0]]), "is NaN"),
        (lambda: peaks(np.full((1, 2, 2), np.nan)), "map 0 holds NaN"),
        (lambda: peaks(np.zeros((1, 0, 2))), "0 by 2 cells"),
    ],
)
def test_impossible_inputs_are_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        call()  # type: ignore[operator]
