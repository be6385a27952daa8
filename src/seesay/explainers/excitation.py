"""Excitation: what has excited the match score of an identifier (`seesay.excitation.match`)."""

from typing import ClassVar

import numpy as np

from seesay.explainers.explanation import Explanation, sum_by_word
from seesay.explainers.registry import Explainer, register_explainer
from seesay.images.arrays import ImageFeatures
from seesay.runtime.probabilities import match_probability
from seesay.runtime.protocol import Answering


@register_explainer("excitation")
class Excitation(Explainer):
    """What has excited the match score."""

    weights = "identifier"
    contrastive: ClassVar[bool] = False

    def explain(self, model: Answering, features: ImageFeatures, sentence: str) -> Explanation:
        words = tuple(sentence.split())
        found = model.saliency(features, [sentence], contrastive=self.contrastive)
        return Explanation(
            self.name,
            words,
            sum_by_word(words, found.words[0].astype(np.float64)),
            found.maps[0].astype(np.float64),
            float(found.logits[0]),
            probability=float(match_probability(model.calibration, found.logits)[0]),
        )


@register_explainer("contrastive")
class Contrastive(Excitation):
    """Excitation minus the excitation of the negated score."""

    contrastive = True
