"""Words and regions: hand-computed chains, brute force over all assignments, and heat that is counted by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.grounding.chains import Segment, align_words, best_regions, chain_regions, energy, phrase_scores, segments
from seesay.grounding.heat import best_boxes, box_overlaps, point_at
from seesay.metrics.grounding import box_iou

SCORES = np.array([[3.0, 0.0, 0.5], [1.0, 1.5, 0.0], [2.0, 0.0, 1.0], [0.0, 0.0, 4.0]])


class TestChain:
    def test_without_coupling_every_word_takes_its_own_best_region(self) -> None:
        assert chain_regions(SCORES, 0.0).tolist() == best_regions(SCORES).tolist() == [0, 1, 0, 2]

    def test_a_coupling_joins_a_word_that_gains_less_by_leaving(self) -> None:
        # Word 1 gains 0.5 by leaving region 0 and then misses two agreements: it stays from a coupling of 0.25 on.
        assert chain_regions(SCORES, 0.24).tolist() == [0, 1, 0, 2]
        assert chain_regions(SCORES, 0.26).tolist() == [0, 0, 0, 2]

    def test_a_strong_coupling_gives_all_words_the_region_that_suits_them_together(self) -> None:
        assert SCORES.sum(axis=0).tolist() == [6.0, 1.5, 5.5]
        assert chain_regions(SCORES, 100.0).tolist() == [0, 0, 0, 0]

    def test_one_word_and_one_region_are_chains_too(self) -> None:
        assert chain_regions(np.array([[1.0, 3.0]]), 1.0).tolist() == [1]
        assert chain_regions(np.array([[1.0], [-3.0]]), 1.0).tolist() == [0, 0]

    @given(
        st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=1, max_size=5),
        st.sampled_from([0.0, 0.5, 1.0, 2.5]),
    )
    def test_it_is_the_best_of_all_assignments(self, rows: list[list[int]], coupling: float) -> None:
        scores = np.array(rows, np.float64)
        every = [np.array(assigned) for assigned in product(range(3), repeat=len(rows))]
        most = max(energy(scores, assigned, coupling) for assigned in every)
        assert energy(scores, chain_regions(scores, coupling), coupling) == pytest.approx(most)

    @pytest.mark.parametrize("coupling", [-0.1, float("nan")])
    def test_neighbours_never_lose_by_agreeing(self, coupling: float) -> None:
        with pytest.raises(SeesayError, match=r"a coupling of .*\n  allowed: 0 or more"):
            chain_regions(SCORES, coupling)

    @pytest.mark.parametrize("scores", [np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.array([[np.nan]])])
    def test_scores_without_words_regions_or_numbers_are_refused(self, scores: np.ndarray) -> None:
        for ask in (best_regions, lambda s: chain_regions(s, 1.0), lambda s: phrase_scores(s, [])):
            with pytest.raises(SeesayError, match="scores"):
                ask(scores)


class TestPhrases:
    def test_segments_are_runs_of_one_region_and_cover_the_sentence(self) -> None:
        assert segments(SCORES, np.array([0, 0, 0, 2])) == [Segment(0, 3, 0, 6.0, 3), Segment(3, 4, 2, 4.0, 1)]
        assert segments(SCORES, np.array([2, 0, 2, 2])) == [
            Segment(0, 1, 2, 0.5, 1), Segment(1, 2, 0, 1.0, 1), Segment(2, 4, 2, 5.0, 2),
        ]  # fmt: skip

    def test_a_phrase_scores_what_its_words_score_together(self) -> None:
        assert phrase_scores(SCORES, [(0, 2), (2, 2), (1, 4)]).tolist() == [[4, 1.5, 0.5], [0, 0, 0], [3, 1.5, 5]]
        assert phrase_scores(SCORES, []).shape == (0, 3)

    @pytest.mark.parametrize("span", [(-1, 2), (2, 1), (0, 5)])
    def test_a_phrase_lies_within_its_sentence(self, span: tuple[int, int]) -> None:
        with pytest.raises(SeesayError, match="between 0 and 4"):
            phrase_scores(SCORES, [span])


class TestPlaces:
    heat = np.array([[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 6.0, 2.0]]])

    def test_the_model_points_at_the_middle_of_the_hottest_cell(self) -> None:
        assert point_at(self.heat, blur=0).tolist() == [[0.625, 0.75]]

    def test_spread_heat_prefers_a_warm_neighbourhood_to_a_hot_spot(self) -> None:
        heat = np.zeros((1, 5, 9))
        heat[0, 2, 1], heat[0, 1:4, 5:8] = 1.5, 1.0
        assert point_at(heat, blur=0).tolist() == [[1.5 / 9, 0.5]]
        assert point_at(heat, blur=1).tolist() == [[6.5 / 9, 0.5]]

    def test_spreading_neither_cools_nor_heats_the_border(self) -> None:
        even = np.ones((1, 5, 5))
        even[0, 2, 2] += 0.01
        assert point_at(even, blur=1).tolist() == [[0.5, 0.5]]
        np.testing.assert_allclose(point_at(np.pad([[[1.0]]], ((0, 0), (0, 5), (0, 5))), blur=1), [[1 / 12, 1 / 12]])

    def test_the_overlap_with_wholly_hot_places_is_their_iou(self) -> None:
        heat = np.zeros((1, 4, 4))
        heat[0, :2, 1:3] = 5.0
        boxes = np.array([[0.25, 0, 0.75, 0.5], [0, 0, 1, 1], [0.5, 0, 1, 0.5], [0, 0.5, 1, 1]], np.float32)
        expected = box_iou(boxes, boxes[:1]).T
        np.testing.assert_allclose(box_overlaps(heat, boxes, ramp=0.5, area_power=1), expected, atol=1e-6)

    def test_places_are_hot_by_degrees(self) -> None:
        deviation = self.heat.std()  # of 6, 2 and six times 0, with a mean of 1
        degrees = np.clip((np.array([6.0, 2.0]) - 1) / deviation / 2, 0, 1)
        boxes = np.array([[0.5, 0.5, 0.75, 1]], np.float32)
        expected = degrees[0] / 8 / (0.125**0.7 + degrees[1] / 8)
        np.testing.assert_allclose(box_overlaps(self.heat, boxes, floor=0, ramp=2, area_power=0.7), [[expected]])

    def test_a_map_without_differences_is_hot_nowhere(self) -> None:
        overlaps = box_overlaps(np.full((1, 2, 2), 3.0), np.array([[0, 0, 1, 1]], np.float32), floor=0)
        assert overlaps.tolist() == [[0.0]]

    def test_words_that_say_nothing_follow_their_neighbours(self) -> None:
        left, right = np.zeros((2, 4)), np.zeros((2, 4))
        left[:, :2], right[:, 2:] = 1, 1
        boxes = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
        heat = np.stack([0.1 * right, left, 0.1 * right, right])
        found = align_words(heat, boxes, coupling=0.5)
        assert [(part.first, part.last, part.region) for part in found] == [(0, 2, 0), (2, 4, 1)]
        apart = align_words(heat, boxes, coupling=0)
        assert [part.region for part in apart] == [1, 0, 1]
        assert sum(part.score for part in apart) == pytest.approx(4)

    def test_a_word_that_was_left_out_stays_cold(self) -> None:
        """What the others have in common, taken off it, would be a place where nobody looks."""
        left = np.zeros((2, 4))
        left[:, :2] = 1
        boxes = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
        (found,) = align_words(np.stack([4 * left, 0 * left, 4 * left]), boxes)
        assert (found.first, found.last, found.region) == (0, 3, 0)

    def test_what_all_words_look_at_is_taken_off_before_they_are_laid(self) -> None:
        left, right = np.zeros((2, 4)), np.zeros((2, 4))
        left[:, :2], right[:, 2:] = 1, 1
        boxes = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
        heat = np.stack([4 * left, 3 * left + 2 * right])
        assert [part.region for part in align_words(heat, boxes, coupling=0, common=0)] == [0]
        assert [part.region for part in align_words(heat, boxes, coupling=0, common=0.8)] == [0, 1]
        assert [part.region for part in align_words(heat[1:], boxes)] == [0]  # a word alone has nothing in common

    def test_words_that_are_not_laid_join_the_phrase_that_they_lead_to(self) -> None:
        left, right = np.zeros((2, 4)), np.zeros((2, 4))
        left[:, :2], right[:, 2:] = 1, 1
        boxes = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
        heat = np.stack([right, left, left, left, right, left])  # a dog on the snow there
        grounded = [False, True, False, False, True, False]
        found = align_words(heat, boxes, 0.1, common=0, grounded=grounded)
        assert [(part.first, part.last, part.region, part.n_grounded) for part in found] == [(0, 2, 0, 1), (2, 6, 1, 1)]
        assert [part.gain for part in found] == pytest.approx([1, 1])
        everywhere = align_words(heat, boxes, 0.1, common=0, grounded=[False] * 6)  # where none is, all are
        assert everywhere == align_words(heat, boxes, 0.1, common=0)

    def test_of_boxes_that_overlap_the_better_one_is_kept(self) -> None:
        boxes = np.array([[0, 0, 1, 1], [0, 0, 0.9, 1], [0.5, 0, 1, 1], [0, 0, 0.2, 0.2]], np.float32)
        gains = np.array([2.0, 3.0, 1.0, 0.5])
        assert best_boxes(gains, boxes, 3).tolist() == [1, 2, 3]
        assert best_boxes(gains, boxes, 4, overlap=1.0).tolist() == [1, 0, 2, 3]
        assert best_boxes(gains, boxes).tolist() == [1]
