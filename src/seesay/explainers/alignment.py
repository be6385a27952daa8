"""Alignment: where the vector of each word fits the image, by any model that has such vectors.

In an explanation each word is read by itself, and has a heat map (`seesay.grounding.heat.heat_maps`). Its weight is how
far the peak of its map rises above the median: the map of a word that is nowhere in the image is flat.
"""

from collections.abc import Sequence

import numpy as np

from seesay.explainers.explanation import PALE, Explanation, Floats, scale_heat
from seesay.explainers.registry import Explainer, register_explainer
from seesay.grounding.heat import box_overlaps, heat_maps, term_vectors
from seesay.grounding.tuned import grounding_of
from seesay.images.arrays import ImageFeatures
from seesay.images.regions import windows
from seesay.runtime.protocol import Answering
from seesay.text.tokens import LONGEST, tokenize

N_CANDIDATES = 200
"""Windows, of which the one that overlaps the heat of a word best is its box."""


@register_explainer("alignment")
class Alignment(Explainer):
    """A heat map, a box and a weight for each word."""

    weights = "vse"

    def prepare(self) -> None:
        windows(N_CANDIDATES)

    def explain(self, model: Answering, features: ImageFeatures, sentence: str) -> Explanation:
        words = tuple(sentence.split())
        maps = self.locate(model, features, words)  # (T, h, w)
        rises = maps.max(axis=(1, 2)) - np.median(maps, axis=(1, 2))
        weights = rises / max(float(rises.sum()), 1e-12)
        candidates = windows(N_CANDIDATES)
        best = box_overlaps(maps, candidates, **grounding_of(model).rule).argmax(axis=1)
        return Explanation(
            self.name,
            words,
            weights,
            (scale_heat(maps, PALE) * weights[:, None, None]).sum(axis=0),
            float(model.score(model.encode_images(features), model.encode_texts([sentence]))[0, 0]),
            word_maps=maps,
            boxes=candidates[best].astype(np.float64),
        )

    def locate(self, model: Answering, features: ImageFeatures, phrases: Sequence[str]) -> Floats:
        return heat_maps(model, features, term_vectors(model, phrases))

    def locate_words(self, model: Answering, features: ImageFeatures, sentence: str) -> Floats:
        if not model.can("phrases"):  # it has no vectors of words within a sentence
            return super().locate_words(model, features, sentence)
        n_words = len(tokenize(sentence)[:LONGEST])  # after these, some models keep a vector of the whole sentence
        return heat_maps(model, features, model.encode_texts([sentence]).states[0, :n_words])
