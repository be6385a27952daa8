"""When a model should doubt its own answer: phrases that a photo does not show, captions that say what is not there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.captioning.bank import features_in
from seesay.captioning.captions import caption_images
from seesay.captioning.matching import judge_of
from seesay.captioning.sentences import likelihood_per_word
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.grounding.boxed_phrases import boxed_phrases
from seesay.grounding.closer import Closeups
from seesay.grounding.heat import heat_maps
from seesay.grounding.learned import learned_boxes
from seesay.grounding.locating import locate_among, locate_freely
from seesay.grounding.presence import signs_of
from seesay.grounding.tuned import grounding_of
from seesay.images.extraction import features_of
from seesay.images.proposals import proposals_of
from seesay.metrics.calibration import expected_calibration_error, fit_logistic
from seesay.models.aligner import Aligner
from seesay.models.base import Captioner
from seesay.runtime.protocol import Answering
from seesay.runtime.witness import Witness
from seesay.settings.doubt import Doubt
from seesay.text.function_words import name_things
from seesay.text.tokens import tokenize
from seesay.training.finishing.grounding import PROPOSALS

KEPT = 0.85
"""The share of phrases that a photo does show of which a box is drawn."""
HALF = 0.5
"""A caption is unsure where fewer of its content words are expected to be right than wrong."""
SEED = 0


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of a model whose truth is known.

    Attributes:
        evidence: (n,) the model's own score of each.
        n_words: (n,) words of each.
        right: (n,) 1 where it is right, 0 where it is wrong, or the share of it that is right.
        match: (n,) the cosine that a matcher gives each, where one has judged them.
        matcher: Its weights.
        crops: (n, 2) the peak of a phrase's heat and the matcher's best cosine with a place, where the images were
            looked at again in crops, and third what learned boxes say (`seesay.grounding.presence.Signs`).
    """

    evidence: NDArray[np.float64]
    n_words: NDArray[np.float64]
    right: NDArray[np.float64]
    match: NDArray[np.float64] | None = None
    matcher: str = ""
    crops: NDArray[np.float64] | None = None

    @property
    def cosines(self) -> NDArray[np.float64]:
        """`match`, or nothing for each."""
        return np.zeros_like(self.evidence) if self.match is None else self.match

    def without_signs(self, n_kept: int) -> "Answers":
        """The same with the first of the signs of `crops` alone."""
        return replace(self, crops=self.crops[:, :n_kept] if self.crops is not None and n_kept else None)

    def probability(self, doubt: Doubt) -> NDArray[np.float64]:
        """What a curve predicts of each."""
        crops = () if self.crops is None else tuple(self.crops.T)
        return doubt.probability(self.evidence, self.n_words, self.cosines, *crops)


def fit_doubt(answers: Answers, least: float = HALF) -> Doubt:
    """The curve under which what was observed is most probable.

    Raises:
        SeesayError: All answers are right, or none.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> evidence, n_words = rng.normal(size=20_000), rng.integers(1, 5, 20_000).astype(float)
        >>> right = rng.random(20_000) < 1 / (1 + np.exp(-(2 * evidence - n_words + 1)))
        >>> doubt = fit_doubt(Answers(evidence, n_words, right.astype(float)))
        >>> round(doubt.slope), round(doubt.per_word), round(doubt.offset)
        (2, -1, 1)
    """
    share = float(answers.right.mean()) if len(answers.right) else 0.0
    if not 0 < share < 1:
        raise SeesayError(f"of {len(answers.right)} answers {share:.0%} are right", allowed="some right and some wrong")
    columns = [answers.evidence, answers.n_words, np.ones_like(answers.evidence)]
    columns += [] if answers.match is None else [answers.match]
    columns += [] if answers.crops is None else [*answers.crops.T]
    slope, per_word, offset, *more = map(float, fit_logistic(np.stack(columns, 1), answers.right))
    per_match = 0.0 if answers.match is None else more.pop(0)
    return Doubt(slope, per_word, offset, least, per_match, answers.matcher, *more)


def fit_presence(answers: Answers, kept: float = KEPT) -> Doubt:
    """The curve for boxes of phrases, which draws a box for a given share of the phrases that are there."""
    doubt = fit_doubt(answers)
    there = answers.probability(doubt)[answers.right == 1]
    return replace(doubt, least=round(float(np.quantile(there, 1 - kept)), 4))


def describe_doubt(doubt: Doubt, answers: Answers) -> dict[str, float]:
    """What a curve reaches, in percent; of answers that are right in part, those that are more right than wrong."""
    probabilities = answers.probability(doubt)
    kept, right = probabilities >= doubt.least, answers.right >= HALF
    return {
        "kept of right": _percent(kept[right]),
        "kept of wrong": _percent(kept[~right]),
        "right of kept": _percent(right[kept]),
        "expected calibration error": round(100 * expected_calibration_error(probabilities, right), 2),
    }


def _percent(shares: ArrayLike) -> float:
    values = np.asarray(shares, np.float64)
    return round(100 * float(values.mean()), 2) if len(values) else 0.0


def gather_phrases(model: Aligner | Answering, collection: Collection, matcher: str = "", seed: int = SEED) -> Answers:
    """Phrases with their own photo, and as many of other photos that nobody said of this one.

    Args:
        collection: With boxed phrases (`seesay.data.entities.attach`).
        matcher: Weights that compare a phrase with the whole photo, of what the model has seen of it.
    """
    answers, how, learned = answering(model), grounding_of(model), learned_boxes(model)
    witness = Witness(matcher, answers) if matcher else None
    table = features_of(collection.images, model.feature_spec, ("pooled", "map"))
    regions = [] if learned else proposals_of(collection.images, PROPOSALS)
    own: dict[int, list[str]] = {}
    for phrase in boxed_phrases(collection):
        texts = own.setdefault(phrase.item, [])
        if phrase.text not in texts:
            texts.append(phrase.text)
    foreign = draw_foreign(own, [item.sentences for item in collection.items], seed)
    closeups = Closeups(collection.images, how.closer if matcher else 0.0, model.feature_spec)
    evidence: list[NDArray[np.float64]] = []
    signs: list[NDArray[np.float64]] = []
    for place, texts in own.items():
        features, closer, asked = table.arrays([place]), closeups[place], [*texts, *foreign[place]]
        vectors = answers.encode_phrases(asked)
        if learned is not None and closer is not None:
            located = locate_freely(answers, learned, closer, vectors)
        else:
            located = locate_among(
                answers, features, closer, partial(heat_maps, answers, vectors=vectors), regions[place]
            )
        signs += [signs_of(asked, features, closer, located.heat, witness, located.presence).rows]
        drawn = np.concatenate(located.boxes).astype(np.float32)  # (n, 4)
        evidence.append((vectors * answers.encode_regions(features, drawn)[0]).sum(1).astype(np.float64))
    texts = [text for place in own for text in (*own[place], *foreign[place])]
    right = [float(is_own) for place in own for is_own in [1] * len(own[place]) + [0] * len(foreign[place])]
    found, named, seen = np.concatenate(evidence), count_named(texts), np.concatenate(signs)
    if witness is None:
        return Answers(found, named, np.array(right))
    crops = seen[:, 1:] if learned else seen[:, 1:3]
    return Answers(found, named, np.array(right), seen[:, 0], matcher, crops if how.closer else None)


def gather_captions(model: Captioner, dev: Examples) -> Answers:
    """Captions of photos by how likely the model takes each of their words to be, and how much of them people said.

    Where a matcher orders the captions, its cosine is part of the evidence.
    """
    answers = answering(model)
    judge = judge_of(answers)
    captions = [own[0] for own in caption_images(answers, features_in(dev), judge=judge)]
    return Answers(
        np.array([likelihood_per_word(caption) for caption in captions]),
        np.array([len(caption.words) for caption in captions], np.float64),
        np.array(
            [share_right(each.text, item.sentences) for each, item in zip(captions, dev.collection.items, strict=True)]
        ),
        None if judge is None else np.array([caption.match for caption in captions], np.float64),
        judge.matching.matcher if judge else "",
    )


def draw_foreign(own: Mapping[int, Sequence[str]], told: Sequence[Sequence[str]], seed: int) -> dict[int, list[str]]:
    """For each photo as many phrases of others as it has itself; none whose words its own sentences have.

    Example:
        >>> draw_foreign({0: ["a dog"], 1: ["a red ball"]}, [["a dog runs"], ["a red ball", "the dog"]], seed=0)
        {0: ['a red ball'], 1: []}
    """
    rng = np.random.default_rng(seed)
    everything = sorted({text for texts in own.values() for text in texts})
    found: dict[int, list[str]] = {}
    for place, texts in own.items():
        said = {word for sentence in told[place] for word in tokenize(sentence)}
        order = iter(rng.permutation(len(everything)))
        drawn = found.setdefault(place, [])
        while len(drawn) < len(texts) and (number := next(order, None)) is not None:
            words = _named(everything[number])
            if words and not said.intersection(words):
                drawn.append(everything[number])
    return found


def share_right(caption: str, references: Iterable[str]) -> float:
    """The share of a caption's content words that people said of the same photo.

    Example:
        >>> share_right("a brown dog in the snow", ["the dog runs", "a dog on grass"])
        0.3333333333333333
    """
    said = {word for sentence in references for word in tokenize(sentence)}
    words = _named(caption)
    return sum(word in said for word in words) / len(words) if words else 0.0


def count_named(texts: Iterable[str]) -> NDArray[np.float64]:
    """How many words of each text name something."""
    return np.array([len(_named(text)) for text in texts], np.float64)


def _named(text: str) -> list[str]:
    tokens = tokenize(text)
    return [token for token, names in zip(tokens, name_things(tokens), strict=True) if names]
