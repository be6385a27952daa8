"""Identification: the same questions for everybody, the paper's baseline, and calibration before and after."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.data import Collection, Item
from seesay.data.examples import Examples
from seesay.evaluation.identification import (
    Game,
    Reading,
    answer_from,
    caption_scores,
    draw_games,
    person_scores,
    play,
)
from seesay.evaluation.reliability import CalibrationReport, plot_reliability
from seesay.images.features import Features
from seesay.text.vectors import WordVectors

VECTORS = WordVectors("toy", {"dog": 0, "cat": 1, "runs": 2, "sleeps": 3}, np.eye(4, dtype=np.float32))


class Table:
    def __init__(self, pooled: torch.Tensor) -> None:
        self.pooled = pooled

    def __len__(self) -> int:
        return len(self.pooled)

    def rows(self, indices: Any) -> Features:
        return Features(self.pooled[list(indices)])


@pytest.fixture
def source() -> Examples:
    """Six pictures in three pairs of look-alikes."""
    angles = torch.tensor([0.0, 0.05, 1.0, 1.05, 2.0, 2.05])
    table: Any = Table(torch.stack([angles.cos(), angles.sin()], 1))
    items = tuple(Item(f"{n}.jpg", None, (f"picture {n}", f"number {n}"), "test") for n in range(6))
    return Examples.of(Collection("made up", Path("nowhere"), "CSV or JSONL", items), table)


def test_look_alikes_are_the_nearest_neighbours(source: Examples) -> None:
    games = draw_games(source, [Game("any", 2, 50), Game("alike", 2, 50, alike=True)])
    right, rival = games["alike"].images.T
    assert (rival == right ^ 1).all()
    assert (games["any"].images[:, 1] != games["any"].images[:, 0] ^ 1).any()


def test_a_game_with_more_candidates_than_pictures_is_left_out(source: Examples) -> None:
    assert list(draw_games(source, [Game("two", 2, 5), Game("hundred", 100, 5)])) == ["two"]


def test_one_who_has_scored_everything_answers_from_the_table(source: Examples) -> None:
    games = draw_games(source, [Game("two", 2, 40), Game("alike", 2, 40, alike=True)])
    owners = source.image_of
    knows = (np.arange(6)[:, None] == owners).astype(float)
    pairs_only = (np.arange(6)[:, None] // 2 == owners // 2).astype(float)  # cannot tell look-alikes apart
    assert play(answer_from(knows), games) == {"two": 100, "alike": 100}
    assert play(answer_from(pairs_only), games)["alike"] == 0  # a tie is no success


def test_the_baseline_compares_the_mean_vectors_of_caption_and_query() -> None:
    scores = caption_scores(["a dog runs", "the cat sleeps", ""], ["Dog!", "dog and cat", "zebra"], VECTORS)
    half = 0.5
    wanted = [[half**0.5, half, 0.0], [0.0, half, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(scores, wanted, atol=1e-6)


class TestReading:
    def test_function_words_do_not_count_and_the_centre_is_subtracted(self) -> None:
        centred = Reading(VECTORS, frozenset({"runs"}), np.array([0.5, 0.5, 0, 0]))
        np.testing.assert_allclose(
            centred.read(["a dog runs", "runs", "dog cat"]), [[0.5, -0.5, 0, 0], [0] * 4, [0] * 4]
        )

    def test_what_all_sentences_share_tells_no_two_apart_once_it_is_subtracted(self) -> None:
        """Plain means of words that stand in every sentence hide the one that differs; the rest is told apart."""
        shared = WordVectors("toy", {"dog": 0, "cat": 1, "photo": 2}, np.array([[1, 0, 5], [-1, 0, 5], [0, 0, 9.0]]))
        captions, queries = ["a dog photo", "a cat photo"], ["dog", "cat"]
        plain = caption_scores(captions, queries, shared)
        better = caption_scores(captions, queries, Reading(shared, centre=np.array([0, 0, 6.0])))
        assert plain[0, 0] - plain[0, 1] < 0.1
        assert better[0, 0] - better[0, 1] > 0.5

    def test_vectors_and_centre_are_those_of_the_training_sentences(self) -> None:
        images = [["a dog runs", "one dog runs"]] * 5 + [["a cat sleeps"]] * 5
        reading = Reading.learned_from(images)
        assert set(reading.vectors.rows) == {"a", "dog", "runs", "one", "cat", "sleeps"}
        np.testing.assert_allclose(reading.read([text for own in images for text in own]).mean(0), 0, atol=1e-6)
        scores = caption_scores(["dog", "cat"], ["runs", "sleeps"], reading)
        assert scores[0, 0] > scores[0, 1]
        assert scores[1, 1] > scores[1, 0]

    def test_a_person_never_answers_with_the_query_itself(self) -> None:
        items = tuple(Item(f"{n}.jpg", None, (first, "a cat"), "test") for n, first in enumerate(("dog", "runs")))
        table: Any = Table(torch.eye(2))
        source = Examples.of(Collection("made up", Path("nowhere"), "CSV or JSONL", items), table)
        scores = person_scores(source, Reading(VECTORS))
        #  queries:                  dog  a cat runs a cat
        np.testing.assert_allclose(scores, [[0, 0, 0, 0], [0, 0, 0, 0]])  # "dog" is asked of the second, "a cat"
        assert play(answer_from(scores), draw_games(source, [Game("two", 2, 20)])) == {"two": 0}


def test_calibration_is_reported_before_and_after() -> None:
    true = np.array([True, True, False, False])
    report = CalibrationReport.of([0.99, 0.99, 0.99, 0.99], [0.5, 0.5, 0.5, 0.5], true)
    assert (report.before, report.after) == (pytest.approx(0.49), pytest.approx(0.0))
    assert report.to_dict()["bins_after"] == [{"predicted": 0.5, "observed": 0.5, "n": 4}]


def test_the_plot_shows_a_picture_with_colours_of_both_kinds(tmp_path: Path) -> None:
    report = CalibrationReport.of([0.9, 0.9, 0.2], [0.7, 0.7, 0.3], [True, False, False])
    plot_reliability({"match": report, "choice": report}, "a model", tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as plot:
        colours = {colour for _, colour in plot.convert("RGB").getcolors(1 << 24)}
    assert {(31, 111, 159), (217, 114, 46)} <= colours
