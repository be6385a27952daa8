"""Plots are PNGs on which the data can be seen: both colours, and where they should be."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seesay.evaluation.plots import COLOURS, plot_ranks, plot_recall
from seesay.evaluation.protocols import PROTOCOLS
from seesay.evaluation.retrieval import Evaluation
from seesay.metrics.retrieval import ranks, recall_curves


def evaluation_of(scores: np.ndarray, owners: np.ndarray) -> Evaluation:
    found = ranks(scores, owners)
    report = found.report()
    return Evaluation(PROTOCOLS["full"], None, report, (report,), found, recall_curves(scores, owners), *scores.shape)


@pytest.fixture
def evaluation() -> Evaluation:
    generator = np.random.default_rng(0)
    owners = np.repeat(np.arange(40), 3)
    scores = generator.normal(size=(40, 120))
    scores[owners, np.arange(120)] += 1.5
    return evaluation_of(scores, owners)


def pixels_of(path: Path, colour: str) -> np.ndarray:
    """(n, 2) row and column of the pixels of a colour."""
    wanted = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)])
    picture = np.asarray(Image.open(path).convert("RGB")).astype(int)
    return np.argwhere(np.abs(picture - wanted).sum(-1) < 12)


@pytest.mark.parametrize("plot", [plot_recall, plot_ranks])
def test_a_plot_is_a_png_that_shows_both_directions(plot, evaluation: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "plots" / "plot.png"
    plot(evaluation, "toy on toys", path)
    with Image.open(path) as picture:
        assert (picture.format, picture.size) == ("PNG", (1050, 660))
    for colour in COLOURS.values():
        assert len(pixels_of(path, colour)) > 200
    assert [entry.name for entry in path.parent.iterdir()] == ["plot.png"]


def test_a_better_model_has_the_higher_curve(evaluation: Evaluation, tmp_path: Path) -> None:
    owners = np.repeat(np.arange(40), 3)
    perfect = evaluation_of(np.eye(40)[:, owners] * 1.0, owners)
    plot_recall(evaluation, "weak", tmp_path / "weak.png")
    plot_recall(perfect, "perfect", tmp_path / "perfect.png")
    heights = [np.median(pixels_of(tmp_path / f"{name}.png", COLOURS["t2i"])[:, 0]) for name in ("weak", "perfect")]
    assert heights[1] < heights[0]  # rows are counted from the top


def test_ranks_of_a_perfect_model_are_one_bar_each(tmp_path: Path) -> None:
    plot_ranks(evaluation_of(np.eye(12), np.arange(12)), "perfect", tmp_path / "ranks.png")
    first, second = (pixels_of(tmp_path / "ranks.png", colour) for colour in COLOURS.values())
    assert len(first) == pytest.approx(len(second), rel=0.05)


def test_plotting_leaves_pyplot_alone(evaluation: Evaluation, tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    plot_recall(evaluation, "toy", tmp_path / "recall.png")
    assert plt.get_fignums() == before
