"""Identification as paper 004 measures it, and harder: 2-way, 10-way and 100-way, and among look-alikes.

A trial is a sentence, the image that it was written for, and others. Who answers is a function from trials to scores,
so that an identifier, a joint embedding and the paper's baseline are asked the same questions. The baseline (section
2.1) is the cosine of the mean GloVe vectors of the sentence and of the caption that a captioner writes for each image.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.captioning.bank import features_in
from seesay.captioning.captions import caption_images
from seesay.captioning.settings import Settings
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.evaluation import protocols
from seesay.evaluation.protocols import find_protocol, read_measured, timed
from seesay.evaluation.reliability import CalibrationReport, Identifies, calibration_of
from seesay.images.extraction import features_of
from seesay.metrics.identification import N_TRIALS, Trials, draw_trials, identification_accuracy
from seesay.metrics.neighbours import cosines
from seesay.models.base import Captioner, Matcher
from seesay.scoring import score_all, score_trials, similar_pictures
from seesay.system.progress import Progress
from seesay.text.tokens import tokenize
from seesay.text.vectors import WordVectors, load_vectors

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
    Game("2-way", 2),
    Game("10-way", 10),
    Game("100-way", 100, 1000),
    Game("2-way, look-alikes", 2, alike=True),
    Game("10-way, look-alikes", 10, alike=True),
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


def answer_with(model: Any, source: Examples) -> Answer:
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
class IdentificationEvaluation:
    """What weights reached in every game on a split under a protocol.

    Attributes:
        accuracy: Percent of the trials of each game that are answered right.
        n_trials: How many there are.
        by_captions: Whether the answers are those of the paper's baseline, by the captions of a captioner.
        calibration: How well probabilities are calibrated, where there are any.
    """

    protocol: protocols.Protocol
    seed: int | None
    accuracy: dict[str, float]
    n_trials: dict[str, int]
    by_captions: bool
    calibration: dict[str, CalibrationReport]
    n_images: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        part: dict[str, Any] = {
            "accuracy": {game: round(value, 4) for game, value in self.accuracy.items()},
            "n_trials": self.n_trials,
        }
        if self.by_captions:
            part["by"] = "captions"
        if self.calibration:
            part["calibration"] = {kind: report.to_dict() for kind, report in self.calibration.items()}
        return {"identification": part}


def evaluate_identification(
    model: Matcher,
    collection: Collection,
    protocol: str = "full",
    *,
    seed: int | None = None,
    beam: int | None = None,
    store: Path | None = None,
    on_progress: Progress | None = None,
) -> IdentificationEvaluation:
    """Play every game with any matcher; a captioner answers as the paper's baseline does.

    Args:
        beam: Width of the beam by which a captioner writes; else as its weights say.
        on_progress: Called with the images that have features, and all.
    """
    wanted = find_protocol(protocol)
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        source = read_measured(model, collection, wanted, seed=seed, store=store, on_progress=on_progress)
        # Look-alikes are those of the network, whatever else a model looks at: the trials are the same for all on it.
        pooled = features_of(source.collection.images, model.feature_spec, ("pooled",), root=store)
    games = draw_games(Examples.of(source.collection, pooled))
    by_captions = isinstance(model, Captioner)
    with timed("answers", seconds):
        if isinstance(model, Captioner):
            settings = Settings.of(model, beam=beam, candidates=beam)
            captions = [own[0].text for own in caption_images(model, features_in(source), settings=settings)]
            answer = answer_from(caption_scores(captions, source.sentences, load_vectors()))
        else:
            answer = (
                answer_with(model, source) if isinstance(model, Identifies) else answer_from(score_all(model, source))
            )
        accuracy = play(answer, games)
    return IdentificationEvaluation(
        protocol=wanted,
        seed=seed,
        accuracy=accuracy,
        n_trials={name: len(trials) for name, trials in games.items()},
        by_captions=by_captions,
        calibration=calibration_of(model, source) if isinstance(model, Identifies) else {},
        n_images=len(source.collection),
        n_sentences=len(source.sentences),
        seconds=seconds,
    )
