"""The result of an explainer: how much each word and each part of an image contributes to a match."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.text.function_words import name_things
from seesay.text.tokens import token_spans

Floats = NDArray[np.float64]

PALE = 0.2
"""How far the peak of a word's map has to rise above the median to be fully hot, for maps of cosines.

The map of a word that is nowhere in the image is flat: it stays pale instead of glowing at random.
"""
_TINY = 1e-12


def scale_heat(maps: Floats, least: float = _TINY) -> Floats:
    """Maps as heat from 0 to 1: cold up to a map's median, hottest at its peak.

    Args:
        maps: (…, h, w); each is scaled by itself.
        least: A peak that rises less than this above the median is not fully hot.

    Example:
        >>> scale_heat(np.array([[0.1, 0.1, 0.3, 0.2]])).round(2).tolist()
        [[0.0, 0.0, 1.0, 0.33]]
        >>> scale_heat(np.array([[[0.0, 0.0, 0.4, 0.2]], [[0.0, 0.0, 0.0, 0.1]]]), least=0.2).round(2).tolist()
        [[[0.0, 0.0, 1.0, 0.33]], [[0.0, 0.0, 0.0, 0.5]]]
    """
    middle = np.median(maps, axis=(-2, -1), keepdims=True)
    rise = np.maximum(maps.max(axis=(-2, -1), keepdims=True) - middle, least)
    heat: Floats = ((maps - middle) / rise).clip(0, 1)
    return heat


def sum_by_word(words: Sequence[str], weights: Floats) -> Floats:
    """The weights of words from those of their tokens: (…, n_tokens) → (…, n_words).

    Example:
        >>> sum_by_word(["a", "t-shirt"], np.array([0.5, 0.125, 0.25])).tolist()
        [0.5, 0.375]
    """
    return np.stack([weights[..., first:last].sum(axis=-1) for first, last in token_spans(words)], axis=-1)


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a model that attends several times.

    Attributes:
        map: (h, w) the share of each part of the image.
        weights: (T,) the share of each word.
    """

    map: Floats
    weights: Floats

    def top(self, words: Sequence[str], n: int = 2) -> list[str]:
        """The most attended words; Figure 4 of the paper shows two."""
        return [words[place] for place in np.argsort(-self.weights, kind="stable")[:n]]


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a match of an image and a sentence rests on.

    Attributes:
        method: The name of the explainer.
        words: The words of the sentence.
        weights: (T,) how much rests on each word. Those of `excitation` sum to 1 together with the map.
        map: (h, w) how much rests on each part of the image.
        word_maps: (T, h, w) the same for each word, where the method has one for each.
        boxes: (T, 4) the region that each word refers to, as fractions of the image, where there are word maps.
        score: The model's own for the pair.
        probability: Of a match, where the model has one.
        steps: In their order, where the model attends several times.
    """

    method: str
    words: tuple[str, ...]
    weights: Floats
    map: Floats
    score: float
    word_maps: Floats | None = None
    boxes: Floats | None = None
    probability: float | None = None
    steps: tuple[Step, ...] = ()

    @property
    def heat(self) -> Floats:
        """The map from 0 to 1, to be drawn."""
        return scale_heat(self.map)

    @property
    def word_heat(self) -> Floats | None:
        """The maps of the words from 0 to 1, to be drawn; that of a word that is nowhere stays pale."""
        return None if self.word_maps is None else scale_heat(self.word_maps, PALE)

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
        if self.boxes is not None:
            table["boxes"] = self.boxes.round(4).tolist()
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


def place_in_image(found: Explanation, seen: tuple[float, float, float, float]) -> Explanation:
    """An explanation of a part of an image as one of the whole: beside that part nothing was seen.

    Args:
        found: Whose maps and boxes are of the part.
        seen: The part, as left, top, right, bottom, fractions of the image.

    Example:
        >>> found = Explanation("crops", ("dog",), np.ones(1), np.array([[0.0, 1.0]]), 0.5)
        >>> place_in_image(found, (0.25, 0.0, 0.75, 1.0)).map.tolist()
        [[0.5, 0.0, 1.0, 0.5]]
    """
    left, top, right, bottom = seen
    if (left, top, right, bottom) == (0, 0, 1, 1):
        return found
    wide, high = right - left, bottom - top
    start, scale = np.array([left, top, left, top]), np.array([wide, high, wide, high])

    def enlarge(maps: Floats) -> Floats:
        height, width = maps.shape[-2:]
        rows, columns = max(height, round(height / high)), max(width, round(width / wide))
        whole = np.broadcast_to(np.median(maps, axis=(-2, -1), keepdims=True), (*maps.shape[:-2], rows, columns)).copy()
        y, x = min(round(top * rows), rows - height), min(round(left * columns), columns - width)
        whole[..., y : y + height, x : x + width] = maps
        return whole

    return replace(
        found,
        map=enlarge(found.map),
        word_maps=None if found.word_maps is None else enlarge(found.word_maps),
        boxes=None if found.boxes is None else start + found.boxes * scale,
        steps=tuple(replace(step, map=enlarge(step.map)) for step in found.steps),
    )


def let_names_lead(found: Explanation) -> Explanation:
    """An explanation in which no function word weighs more than a word that names something.

    A score may well rest on "with" or "a": captions of some photos have more of them. Whoever asks why a photo was
    found wants to know of what can be seen. Measuring is done on the weights as they are.

    Example:
        >>> weights = np.array([0.4, 0.3, 0.1, 0.2])
        >>> found = Explanation("alignment", ("a", "dog", "on", "grass"), weights, np.ones((1, 1)), 1.0)
        >>> let_names_lead(found).weights.round(3).tolist()  # as much in all
        [0.25, 0.375, 0.125, 0.25]
    """
    named = np.array(name_things(list(found.words)))
    if found.steps or not named.any():
        return found
    weights = np.where(named, found.weights, np.minimum(found.weights, found.weights[named].min()))
    if not weights.any():  # nothing rests on what is named: to say so is better than a row of zeros
        return found
    return replace(found, weights=weights * (found.weights.sum() / max(float(weights.sum()), 1e-12)))
