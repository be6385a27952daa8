"""Caption settings: the best beam, then repetition, then reranking."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seesay.training.finishing.captions import BEAMS, LEAST, NO_REPEATS, POWERS, choose_decoding, choose_reranking


def measure(ways: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    """Best with a beam of five, a power of 0.7, eight words or more, and no pair of words twice."""
    return [measure_one(way) for way in ways]


def measure_one(way: dict[str, Any]) -> dict[str, float]:
    distance = abs(way["beam"] - 5) + abs(way["length_power"] - 0.7) + abs(way["min_length"] - 8) / 10
    figure = 1 - 0.05 * distance + 0.01 * (way["no_repeat"] == 2)
    return {f"bleu{n}": figure for n in (1, 2, 3, 4)} | {"cider": -figure}


def test_beams_are_compared_before_repetition() -> None:
    way, rows = choose_decoding(measure, max_length=25)
    assert way == {"beam": 5, "length_power": 0.7, "min_length": 8, "max_length": 25, "no_repeat": 2}
    n_beams = (len(BEAMS) - 1) * len(POWERS) * len(LEAST) + len(LEAST)  # greedy search knows no power
    assert len(rows) == n_beams + len(NO_REPEATS)
    assert all("bleu4" in row for row in rows)


def test_reranking_listens_to_the_neighbours_that_say_what_dev_says() -> None:
    dog, cat = ["a", "dog", "runs", "here"], ["a", "cat", "runs", "here"]
    hypotheses = [[cat, dog], [cat, dog]]
    bank = [[dog, dog], [dog], [cat], [cat, cat]]
    near = np.array([[0, 1, 2], [1, 0, 3]])
    chosen, rows = choose_reranking(hypotheses, bank, near, [[dog], [dog]])
    assert set(chosen) == {"metric", "k", "m"}
    assert chosen["k"] == 3  # as many as there are
    best = max(rows, key=lambda row: row["cider"] + row["bleu4"])
    assert {key: best[key] for key in chosen} == chosen
    assert best["bleu4"] == 1.0
