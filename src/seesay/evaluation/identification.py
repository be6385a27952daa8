"""Identification as paper 004 measures it, and harder: 2-way, 10-way and 100-way, and among look-alikes.

A trial is a sentence, the image that it was written for, and others. Who answers is a function from trials to scores,
so that an identifier, a joint embedding and the paper's baseline are asked the same questions. The baseline (section
2.1) is the cosine of the mean word vectors of the sentence and of the caption that a captioner writes for each image.

The paper has GloVe of 300 numbers, which are not to be had here, and with GloVe of 50 and plain means not even a
person's captions reach what the paper's baseline does. So vectors of 300 numbers are learned from the captioner's own
training sentences, function words are left out, and the mean of those sentences is subtracted. Beside it stand the
plain means of GloVe (`plain`), and the same baseline with a caption that a person wrote (`person`), which bounds it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.captioning.bank import features_in
from seesay.captioning.captions import caption_images
from seesay.captioning.settings import Settings
from seesay.data.examples import Examples
from seesay.engines import answering
from seesay.evaluation import protocols
from seesay.evaluation.captions import describe_decoding, training_collections
from seesay.evaluation.protocols import EvaluationSet, timed
from seesay.evaluation.reliability import CalibrationReport, calibration_of, trial_logits
from seesay.images.extraction import features_of
from seesay.metrics.identification import N_TRIALS, Trials, draw_trials, identification_accuracy
from seesay.metrics.neighbours import cosines
from seesay.models.base import Matcher
from seesay.runtime.protocol import Answering
from seesay.scoring import score_all, similar_images
from seesay.text.function_words import FUNCTION_WORDS
from seesay.text.learned_vectors import learn_vectors
from seesay.text.tokens import tokenize
from seesay.text.vectors import WordVectors, load_vectors

Answer = Callable[[Trials], ArrayLike]
"""From trials to the scores (n, k) of their candidates."""


@dataclass(frozen=True)
class Game:
    """One way to draw trials.

    Attributes:
        n_candidates: Images to choose from.
        n_trials: How many are drawn.
        alike: Whether the others are the nearest neighbours of the right image instead of any.
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
    """The trials of every game on one split; those that need more images than there are, are left out."""
    most = max((game.n_candidates for game in games if game.alike), default=0)
    rivals = similar_images(source, most - 1) if most else None
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


def answer_with(model: Answering, source: Examples) -> Answer:
    """An identifier's answers."""
    return lambda trials: trial_logits(model, source, trials)


def answer_from(scores: ArrayLike) -> Answer:
    """The answers of whoever has scored every image with every sentence: (n_images, n_texts)."""
    matrix = np.asarray(scores)
    return lambda trials: matrix[trials.images, trials.texts[:, None]]


@dataclass(frozen=True)
class Reading:
    """How the baseline makes one vector of a sentence: the mean over the vectors of its words.

    Attributes:
        vectors: Words that they lack are left out.
        leave_out: Words that do not count, as tokens.
        centre: (D,) subtracted from a sentence's mean.
    """

    vectors: WordVectors
    leave_out: frozenset[str] = frozenset()
    centre: NDArray[np.float64] | float = 0.0

    def read(self, sentences: Sequence[str]) -> NDArray[np.float64]:
        """One vector for each sentence, (n, D): zeros where no word of it is known."""
        means = np.zeros((len(sentences), self.vectors.dim))
        for row, sentence in enumerate(sentences):
            words = [word for word in tokenize(sentence) if word in self.vectors and word not in self.leave_out]
            if known := [self.vectors.rows[word] for word in words]:
                means[row] = np.asarray(self.vectors.matrix[known], np.float64).mean(axis=0) - self.centre
        return means

    @classmethod
    def learned_from(cls, images: Sequence[Sequence[str]], dim: int = 300) -> "Reading":
        """With vectors and a centre of these images' sentences, and without function words."""
        plain = cls(learn_vectors(images, dim), FUNCTION_WORDS)
        every = plain.read([sentence for sentences in images for sentence in sentences])
        return replace(plain, centre=every.mean(axis=0))


def caption_scores(
    captions: Sequence[str], sentences: Sequence[str], reading: WordVectors | Reading
) -> NDArray[np.float64]:
    """The paper's baseline: cosine of the mean word vectors of an image's caption and of a query.

    Args:
        captions: One for each image, written by a captioner.
        sentences: The queries.
        reading: How sentences become vectors; of vectors alone the plain mean is taken.

    Returns:
        (n_images, n_texts); a sentence without any known word has a cosine of 0.

    Example:
        >>> vectors = WordVectors("toy", {"dog": 0, "cat": 1, "runs": 2}, np.eye(3, dtype=np.float32))
        >>> caption_scores(["a dog runs", "a cat"], ["the dog"], vectors).round(2).tolist()
        [[0.71], [0.0]]
    """
    how = Reading(reading) if isinstance(reading, WordVectors) else reading
    return cosines(how.read(captions), how.read(sentences))


def person_scores(source: Examples, reading: Reading) -> NDArray[np.float64]:
    """The baseline with captions that people wrote: of each image its first sentence, and where that is asked, its
    second: (n_images, n_texts).
    """
    own = [item.sentences for item in source.collection.items]
    scores = caption_scores([sentences[0] for sentences in own], source.sentences, reading)
    seconds = reading.read([sentences[1] for sentences in own])
    firsts = np.flatnonzero(np.diff(source.image_of, prepend=-1))  # sentences stand image after image
    queries = reading.read([source.sentences[text] for text in firsts])
    scores[source.image_of[firsts], firsts] = cosines(seconds, queries)[source.image_of[firsts], np.arange(len(firsts))]
    return scores


@dataclass(frozen=True)
class IdentificationEvaluation:
    """What weights reached in every game on a split under a protocol.

    Attributes:
        accuracy: Percent of the trials of each game that are answered right.
        n_trials: How many there are.
        baseline: Where the answers are those of the paper's baseline, by the captions of a captioner: how it reads,
            and what it reaches with `plain` means of GloVe and with the captions of a `person`.
        calibration: How well probabilities are calibrated, where there are any.
    """

    protocol: protocols.Protocol
    seed: int | None
    accuracy: dict[str, float]
    n_trials: dict[str, int]
    baseline: dict[str, Any]
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
        if self.baseline:
            part |= {"by": "captions", **self.baseline}
        if self.calibration:
            part["calibration"] = {kind: report.to_dict() for kind, report in self.calibration.items()}
        return {"identification": part}


def evaluate_identification(
    model: Matcher | Answering,
    measured: EvaluationSet,
    *,
    beam: int | None = None,
) -> IdentificationEvaluation:
    """Play every game with any matcher; a captioner answers as the paper's baseline does.

    Args:
        beam: Width of the beam by which a captioner writes; else as its weights say.
    """
    answers = answering(model)
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        source = measured.read(model)
        # Look-alikes are those of the network, whatever else a model looks at: the trials are the same for all on it.
        pooled = features_of(source.collection.images, model.feature_spec, ("pooled",), root=measured.store)
    games = draw_games(Examples.of(source.collection, pooled))
    baseline: dict[str, Any] = {}
    with timed("answers", seconds):
        if answers.can("step"):
            accuracy, baseline = _play_with_captions(answers, source, games, beam)
        else:
            answer = answer_with(answers, source) if answers.can("saliency") else answer_from(_score_all(model, source))
            accuracy = play(answer, games)
    return IdentificationEvaluation(
        protocol=measured.rules,
        seed=measured.seed,
        accuracy=accuracy,
        n_trials={name: len(trials) for name, trials in games.items()},
        baseline=baseline,
        calibration=calibration_of(answers, source) if answers.can("saliency") else {},
        n_images=len(source.collection),
        n_sentences=len(source.sentences),
        seconds=seconds,
    )


def _score_all(model: Matcher | Answering, source: Examples) -> ArrayLike:
    """The scores of every image with every sentence, by the engine of the model: (n_images, n_texts)."""
    if isinstance(model, Matcher):
        return score_all(model, source).numpy()
    table = features_in(source)
    images = [
        model.encode_images(table.arrays(rows.tolist()))
        for rows in np.array_split(np.arange(len(table)), max(1, len(table) // 256))
    ]
    return model.score(np.concatenate(images), model.encode_texts(source.sentences))


def _play_with_captions(
    model: Answering, source: Examples, games: dict[str, Trials], beam: int | None
) -> tuple[dict[str, float], dict[str, Any]]:
    """What the paper's baseline reaches, and what is to be known of it."""
    settings = Settings.of(model, beam=beam, candidates=beam)
    captions = [own[0].text for own in caption_images(model, features_in(source), settings=settings)]
    glove = Reading(load_vectors())
    learned = training_collections(model.weights) if model.weights else None
    reading = glove
    if learned:
        reading = Reading.learned_from([item.sentences for collection in learned for item in collection.items])
    accuracy = play(answer_from(caption_scores(captions, source.sentences, reading)), games)
    about: dict[str, Any] = {"vectors": reading.vectors.name, "captions": describe_decoding(settings)}
    if reading is not glove:
        plain = play(answer_from(caption_scores(captions, source.sentences, glove)), games)
        about["plain"] = {game: round(value, 4) for game, value in plain.items()}
    if min((len(item.sentences) for item in source.collection.items), default=0) > 1:
        person = play(answer_from(person_scores(source, reading)), games)
        about["person"] = {game: round(value, 4) for game, value in person.items()}
    return accuracy, about
