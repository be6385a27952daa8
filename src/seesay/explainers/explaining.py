"""One question for all explainers: where in a picture, and on which words, does a match rest?

excitation   what has excited an identifier's match score (`seesay.explainers.excitation_match`)
contrastive  the same less what has excited the opposite
alignment    where each word's own vector fits the picture (`seesay.explainers.regions`), by an embedding or aligner
attention    where sm-LSTM looks, and on which words, at each of its steps
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.explainers.excitation_match import match_saliency
from seesay.explainers.regions import as_heat, word_maps
from seesay.images.features import Features
from seesay.models.base import LONGEST, Matcher
from seesay.models.identifier import Identifier
from seesay.models.smlstm import SMLSTM
from seesay.text.tokens import tokenize

METHODS = {
    "excitation": "identifier",
    "contrastive": "identifier",
    "alignment": "vse",
    "attention": "smlstm",
}
"""Each method, and the weights that it takes where none are asked for."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Step:
    """One look at both sides.

    Attributes:
        map: (h, w) the share that each part of the picture has of it.
        weights: (T,) the share that each word has of it.
    """

    map: Floats
    weights: Floats

    def top(self, words: Sequence[str], n: int = 2) -> list[str]:
        """The words that are looked at most, as Figure 4 of the paper shows two of them."""
        return [words[place] for place in np.argsort(-self.weights, kind="stable")[:n]]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Where and on which words a match rests.

    Attributes:
        method: One of `METHODS`.
        words: The words of the sentence as the model reads them.
        weights: (T,) how much rests on each word; with the picture's share they sum to 1, but for contrastive ones.
        map: (h, w) how much rests on each part of the picture.
        word_maps: (T, h, w) the same for each word, where the method has one for each.
        score: The model's own for the pair.
        probability: Of a match, where the model has one.
        steps: What is looked at one after the other, where the model looks several times.
    """

    method: str
    words: tuple[str, ...]
    weights: Floats
    map: Floats
    word_maps: Floats | None
    score: float
    probability: float | None = None
    steps: tuple[Step, ...] = ()

    @property
    def heat(self) -> Floats:
        """The map from 0 to 1, to be drawn: cold up to its median, hottest at its peak."""
        return scale_heat(self.map)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and lists."""
        table: dict[str, Any] = {"method": self.method, "score": round(self.score, 4)}
        if self.probability is not None:
            table["probability"] = round(self.probability, 4)
        pairs = zip(self.words, self.weights, strict=True)
        table["words"] = [{"word": word, "weight": round(float(weight), 6)} for word, weight in pairs]
        table["map"] = self.map.round(6).tolist()
        if self.word_maps is not None:
            table["word_maps"] = self.word_maps.round(6).tolist()
        if self.steps:
            table["steps"] = [
                {
                    "words": step.top(self.words),
                    "weights": step.weights.round(6).tolist(),
                    "map": step.map.round(6).tolist(),
                }
                for step in self.steps
            ]
        return table


def explain(model: Matcher, features: Features, sentence: str, method: str = "excitation") -> Explanation:
    """Explain how well a sentence fits a picture.

    Args:
        model: An identifier for `excitation` and `contrastive`; a joint embedding or an aligner for `alignment`; an
            sm-LSTM for `attention`.
        features: Of one picture, with its map, as `model.features` gives them.
        sentence: What is said about it.
        method: One of `METHODS`.

    Raises:
        SeesayError: There is no such method, the model cannot give it, or the sentence has no words.

    Example:
        >>> from PIL import Image
        >>> from seesay.models.pretrained import load
        >>> model = load("vse")
        >>> features = model.features([Image.new("RGB", (64, 64), "green")])
        >>> found = explain(model, features, "A green meadow.", "alignment")
        >>> found.words, found.map.shape
        (('a', 'green', 'meadow'), (10, 10))
    """
    if method not in METHODS:
        raise SeesayError(f"there is no method {method!r}", allowed=METHODS)
    words = tuple(tokenize(sentence)[:LONGEST])
    if not words:
        raise SeesayError(f"the sentence {sentence!r} has no words")
    if method == "alignment":
        return _align(model, features, sentence, words)
    if method == "attention":
        return _attend(model, features, sentence, words)
    if not isinstance(model, Identifier):
        name = model.weights.name if model.weights else model.family
        raise SeesayError(
            f"{name} has no match score that {method} could start from",
            allowed="weights of the family identifier",
            hint="--method alignment, or --model identifier",
        )
    found = match_saliency(model, features, [sentence], contrastive=method == "contrastive")
    return Explanation(
        method,
        words,
        found.words[0, : len(words)].double().numpy(),
        found.maps[0].double().numpy(),
        None,
        float(found.logits[0]),
        float(model.match_probability(found.logits)[0]),
    )


@torch.inference_mode()
def _align(model: Matcher, features: Features, sentence: str, words: Sequence[str]) -> Explanation:
    maps = word_maps(model, features, words)  # (T, h, w)
    rises = maps.max(axis=(1, 2)) - np.median(maps, axis=(1, 2))  # a word that is nowhere has a flat map
    weights = rises / max(float(rises.sum()), 1e-12)
    joined = (as_heat(maps) * weights[:, None, None]).sum(axis=0)
    score = float(model.score(model.encode_images(features), model.encode_texts([sentence]))[0, 0])
    return Explanation("alignment", tuple(words), weights, joined, maps, score)


@torch.inference_mode()
def _attend(model: Matcher, features: Features, sentence: str, words: Sequence[str]) -> Explanation:
    name = model.weights.name if model.weights else model.family
    if not isinstance(model, SMLSTM):
        raise SeesayError(f"{name} does not attend to regions and words", allowed="weights of the family smlstm")
    if not model.pairs.attends:
        raise SeesayError(f"{name} is the variant {model.config.variant}", allowed="full or att, which attend")
    looked = model.look(model.encode_images(features), model.encode_texts([sentence]))
    maps = looked.regions[:, 0, 0].double().view(model.config.n_steps, *model.map_shape(features)).numpy()
    weights = looked.words[:, 0, 0, : len(words)].double().numpy()
    steps = tuple(Step(*both) for both in zip(maps, weights, strict=True))
    return Explanation(
        "attention", tuple(words), weights.mean(axis=0), maps.mean(axis=0), None, float(looked.scores), steps=steps
    )


def scale_heat(found: Floats) -> Floats:
    """A map as heat from 0 to 1: cold up to its median, hottest at its peak.

    Example:
        >>> scale_heat(np.array([[0.1, 0.1, 0.3, 0.2]])).round(2).tolist()
        [[0.0, 0.0, 1.0, 0.33]]
    """
    middle = float(np.median(found))
    heat: Floats = ((found - middle) / max(float(found.max()) - middle, 1e-12)).clip(0, 1)
    return heat
