"""Identification as paper 004 measures it, and harder: among 2, 10 and 100 pictures, and among look-alikes.

A trial is a sentence, the picture that it was written for, and others. Who answers is a function from trials to scores,
so that an identifier, a joint embedding and the paper's baseline are asked the same questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from seesay.data.examples import Examples
from seesay.evaluation.plots import _new_figure, _save
from seesay.metrics.calibration import ReliabilityBin, expected_calibration_error, reliability
from seesay.metrics.identification import N_TRIALS, Trials, draw_trials, identification_accuracy
from seesay.metrics.neighbours import cosines
from seesay.models.identifier import Identifier
from seesay.scoring import score_trials, similar_pictures
from seesay.text.tokens import tokenize
from seesay.text.vectors import WordVectors

Answer = Callable[[Trials], ArrayLike]
"""From trials to the scores (n, k) of their candidates."""


@dataclass(frozen=True)
class Game:
    """One way to draw trials.

    Attributes:
        n_candidates: Pictures to choose from.
        n_trials: How many are drawn.
        alike: Whether the others are the nearest neighbours of the right picture instead of any.
    """

    name: str
    n_candidates: int
    n_trials: int = N_TRIALS
    alike: bool = False


GAMES = (
    Game("two pictures", 2),
    Game("ten pictures", 10),
    Game("hundred pictures", 100, 1000),
    Game("two look-alikes", 2, alike=True),
    Game("ten look-alikes", 10, alike=True),
)


def draw_games(source: Examples, games: Sequence[Game] = GAMES, *, seed: int = 0) -> dict[str, Trials]:
    """The trials of every game on one split; those that need more pictures than there are, are left out."""
    most = max((game.n_candidates for game in games if game.alike), default=0)
    rivals = similar_pictures(source, most - 1) if most else None
    return {
        game.name: draw_trials(
            source.image_of, game.n_trials, game.n_candidates, seed=seed, rivals=rivals if game.alike else None
        )
        for game in games
        if game.n_candidates <= len(source.collection)
    }


def play(answer: Answer, games: dict[str, Trials]) -> dict[str, float]:
    """Percent of the trials of every game that are answered right."""
    return {name: identification_accuracy(np.asarray(answer(trials))) for name, trials in games.items()}


def answer_with(model: Identifier, source: Examples) -> Answer:
    """An identifier's answers."""
    return lambda trials: score_trials(model, source, trials).numpy()


def answer_from(scores: ArrayLike) -> Answer:
    """The answers of whoever has scored every picture with every sentence: (n_images, n_texts)."""
    matrix = np.asarray(scores)
    return lambda trials: matrix[trials.images, trials.texts[:, None]]


def caption_scores(captions: Sequence[str], sentences: Sequence[str], vectors: WordVectors) -> NDArray[np.float64]:
    """The paper's baseline: cosine of the mean word vectors of a picture's caption and of a query.

    Args:
        captions: One for each picture, written by a captioner.
        sentences: The queries.
        vectors: GloVe; words that it lacks are left out, and a sentence without any word has a cosine of 0.

    Returns:
        (n_images, n_texts)

    Example:
        >>> vectors = WordVectors("toy", {"dog": 0, "cat": 1, "runs": 2}, np.eye(3, dtype=np.float32))
        >>> caption_scores(["a dog runs", "a cat"], ["the dog"], vectors).round(2).tolist()
        [[0.71], [0.0]]
    """
    return cosines(_means(captions, vectors), _means(sentences, vectors))


def _means(sentences: Sequence[str], vectors: WordVectors) -> NDArray[np.float64]:
    means = np.zeros((len(sentences), vectors.dim))
    for row, sentence in enumerate(sentences):
        if known := [vectors.rows[word] for word in tokenize(sentence) if word in vectors]:
            means[row] = np.asarray(vectors.matrix[known], np.float64).mean(axis=0)
    return means


@dataclass(frozen=True)
class CalibrationReport:
    """How far probabilities can be taken at their word, as they are and as they were before their temperature.

    Attributes:
        before, after: Expected calibration errors.
        bins_before, bins_after: What was said and what was true.
    """

    before: float
    after: float
    bins_before: list[ReliabilityBin]
    bins_after: list[ReliabilityBin]

    @classmethod
    def of(cls, before: ArrayLike, after: ArrayLike, outcomes: ArrayLike) -> "CalibrationReport":
        """From the probabilities before and after, and whether what they speak of is true."""
        first, second = (np.asarray(some, np.float64).ravel() for some in (before, after))
        true = np.asarray(outcomes).ravel()
        return cls(
            expected_calibration_error(first, true),
            expected_calibration_error(second, true),
            reliability(first, true),
            reliability(second, true),
        )

    def to_dict(self) -> dict[str, Any]:
        """Rounded, to be kept."""
        return {
            "before": round(self.before, 4),
            "after": round(self.after, 4),
            **{
                name: [
                    {"predicted": round(b["predicted"], 4), "observed": round(b["observed"], 4), "n": b["n"]}
                    for b in bins
                ]
                for name, bins in (("bins_before", self.bins_before), ("bins_after", self.bins_after))
            },
        }


def calibration_of(model: Identifier, source: Examples, *, n_candidates: int = 10) -> dict[str, CalibrationReport]:
    """How well both probabilities of an identifier are calibrated on a split.

    `match` says of single pairs, of which half match, that they do; `choice` says of the best of several candidates
    that it is the right one.
    """
    trials = draw_trials(source.image_of, n_candidates=min(n_candidates, len(source.collection)), seed=2)
    logits = score_trials(model, source, trials)
    pairs = logits[:, :2]
    best = logits.argmax(dim=1, keepdim=True)  # (n, 1)
    with torch.inference_mode():
        raw, scaled = logits.softmax(1), model.choice_probability(logits)
        return {
            "match": CalibrationReport.of(
                pairs.sigmoid(), model.match_probability(pairs), np.broadcast_to([True, False], pairs.shape)
            ),
            "choice": CalibrationReport.of(raw.gather(1, best), scaled.gather(1, best), best == 0),
        }


def plot_reliability(reports: dict[str, CalibrationReport], title: str, path: Path) -> None:
    """Save what was said against what was true, before and after the temperature, as a PNG.

    Args:
        reports: As `calibration_of` gives them.
        title: Which model and which data.
        path: Where to; an existing file is replaced in one step.
    """
    figure, axes = _new_figure(title)
    axes.plot([0, 100], [0, 100], color="0.6", linewidth=1.2, linestyle=(0, (4, 3)), label="as said")
    for (name, report), colour in zip(reports.items(), ("#1f6f9f", "#d9722e"), strict=False):
        for bins, error, when, style in (
            (report.bins_before, report.before, "before", ":"),
            (report.bins_after, report.after, "after", "-"),
        ):
            predicted, observed = ([100 * row[key] for row in bins] for key in ("predicted", "observed"))
            label = f"{name}, {when}: error {100 * error:.1f} %"
            axes.plot(
                predicted, observed, color=colour, linestyle=style, linewidth=2, marker="o", markersize=4, label=label
            )
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    axes.set_xlabel("probability said")
    axes.set_ylabel("true among these")
    axes.grid(color="0.9", linewidth=0.8)
    axes.legend(loc="lower right", frameon=False)
    _save(figure, path)
