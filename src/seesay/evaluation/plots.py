"""Two plots of an evaluation: how recall grows with what is retrieved, and where the first correct answer stands.

The first is m-RNN's Figure 6, with a logarithmic axis because the far left is what matters.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seesay.evaluation.retrieval import Evaluation, ShortlistEvaluation
from seesay.system.files import replace_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIRECTIONS = {"i2t": "sentences for an image", "t2i": "images for a sentence"}
COLOURS = {"i2t": "#1f6f9f", "t2i": "#d9722e"}  # told apart also by those who do not see red or green
RANKS = (1, 2, 6, 11, 21, 51, 101, 201, 501)
"""Where the bars of the histogram begin, as 1-based ranks; the last holds everything after."""


def plot_recall(evaluation: Evaluation | ShortlistEvaluation, title: str, path: Path) -> None:
    """Save the recall curves as a PNG; see `drawing`."""
    with drawing(title, path) as axes:
        _draw_recall(axes, evaluation)


def _draw_recall(axes: "Axes", evaluation: Evaluation | ShortlistEvaluation) -> None:
    smallest = min(float(curve.retrieved[1]) for curve in evaluation.curves.values())
    for name, curve in evaluation.curves.items():
        axes.plot(curve.retrieved[1:], curve.recall[1:], color=COLOURS[name], linewidth=2, label=DIRECTIONS[name])
    chance = np.geomspace(smallest, 100, 200)
    axes.plot(chance, chance, color="0.6", linewidth=1.2, linestyle=(0, (4, 3)), label="chance")
    axes.set_xscale("log")
    axes.set_xlim(smallest, 100)
    axes.set_ylim(0, 100)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    axes.set_xlabel("part of the collection retrieved")
    axes.set_ylabel("correct answers among it")
    axes.grid(which="major", color="0.9", linewidth=0.8)
    axes.legend(loc="best", frameon=False)


def plot_ranks(evaluation: Evaluation, title: str, path: Path) -> None:
    """Save a histogram of the rank of the first correct answer as a PNG; see `drawing`."""
    with drawing(title, path) as axes:
        _draw_ranks(axes, evaluation)


def _draw_ranks(axes: "Axes", evaluation: Evaluation) -> None:
    ranks = {"i2t": evaluation.ranks.i2t + 1, "t2i": evaluation.ranks.t2i + 1}
    worst = max(int(found.max()) for found in ranks.values())
    starts = [start for start in RANKS if start <= worst]
    places = np.arange(len(starts))
    for shift, (name, found) in zip((-0.2, 0.2), ranks.items(), strict=True):
        shares = 100 * np.histogram(found, [*starts, worst + 1])[0] / len(found)
        bars = axes.bar(places + shift, shares, 0.38, color=COLOURS[name], label=DIRECTIONS[name])
        axes.bar_label(bars, [f"{share:.0f}" if share >= 0.5 else "" for share in shares], fontsize=8, color="0.3")
    labels = [_bar_name(start, after - 1) for start, after in pairwise([*starts, worst + 1])]
    axes.set_xticks(places, labels)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    axes.set_xlabel("rank of the first correct answer")
    axes.set_ylabel("queries")
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.legend(loc="best", frameon=False)


def _bar_name(first: int, last: int) -> str:
    if first == RANKS[-1]:
        return f"over {first - 1}"
    return f"{first}" if first == last else f"{first}–{last}"


@contextmanager
def drawing(title: str, path: Path) -> Iterator["Axes"]:
    """Axes to draw on, saved as a PNG at the end; without a screen and without pyplot's global state.

    Args:
        title: Which model and which data.
        path: Where to; an existing file is replaced in one step.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(7, 4.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=12)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=3, color="0.5")
    axes.set_axisbelow(True)
    yield axes
    with replace_atomically(path) as temporary:
        figure.savefig(temporary, format="png")
