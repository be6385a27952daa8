"""Attention: where sm-LSTM attends in the image, and to which words, at each of its steps."""

from typing import cast

import torch

from seesay.errors import SeesayError
from seesay.explainers.explanation import Explanation, Step, sum_by_word
from seesay.explainers.registry import Explainer, register_explainer
from seesay.images.features import Features
from seesay.models.base import Matcher
from seesay.models.smlstm import SMLSTM


@register_explainer("attention")
class Attention(Explainer):
    """A map and weights of the words for each step; the whole is their mean."""

    weights = "smlstm"
    has_steps = True

    @torch.inference_mode()
    def explain(self, model: Matcher, features: Features, sentence: str) -> Explanation:
        """Explain a match by attention.

        Raises:
            SeesayError: The model is a variant of sm-LSTM without attention.
        """
        model = cast(SMLSTM, model)
        if not model.pairs.attends:
            name = model.weights.name if model.weights else model.family
            raise SeesayError(f"{name} is the variant {model.config.variant}", allowed="full or att, which attend")
        words = tuple(sentence.split())
        looked = model.look(model.encode_images(features), model.encode_texts([sentence]))
        maps = looked.regions[:, 0, 0].double().view(model.config.n_steps, *model.map_shape(features)).numpy()
        weights = sum_by_word(words, looked.words[:, 0, 0].double().numpy())
        return Explanation(
            self.name,
            words,
            weights.mean(axis=0),
            maps.mean(axis=0),
            float(looked.scores),
            steps=tuple(Step(*both) for both in zip(maps, weights, strict=True)),
        )
