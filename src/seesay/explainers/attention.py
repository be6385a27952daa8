"""Attention: where sm-LSTM attends in the image, and to which words, at each of its steps."""

import numpy as np

from seesay.errors import SeesayError
from seesay.explainers.explanation import Explanation, Step, sum_by_word
from seesay.explainers.registry import Explainer, register_explainer
from seesay.images.arrays import ImageFeatures
from seesay.runtime.protocol import Answering

ATTEND = ("full", "att")
"""The variants of sm-LSTM that attend."""


@register_explainer("attention")
class Attention(Explainer):
    """A map and weights of the words for each step; the whole is their mean."""

    weights = "smlstm"
    has_steps = True

    def explain(self, model: Answering, features: ImageFeatures, sentence: str) -> Explanation:
        """Explain a match by attention.

        Raises:
            SeesayError: The model is a variant of sm-LSTM without attention.
        """
        variant = model.config.get("variant", ATTEND[0])
        if variant not in ATTEND:
            raise SeesayError(f"{model.name} is the variant {variant}", allowed="full or att, which attend")
        assert features.map is not None
        words = tuple(sentence.split())
        looked = model.look(model.encode_images(features), model.encode_texts([sentence]))
        grid, (_, height, width, _) = model.config.get("grid"), features.map.shape
        regions = looked.regions[:, 0, 0].astype(np.float64)  # (n_steps, R)
        maps = regions.reshape(-1, *((grid, grid) if grid else (height, width)))
        weights = sum_by_word(words, looked.words[:, 0, 0].astype(np.float64))
        return Explanation(
            self.name,
            words,
            weights.mean(axis=0),
            maps.mean(axis=0),
            float(looked.scores[0, 0]),
            steps=tuple(Step(*both) for both in zip(maps, weights, strict=True)),
        )
