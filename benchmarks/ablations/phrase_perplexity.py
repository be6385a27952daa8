"""Perplexity of annotated phrases given the box around their thing, for captioners of regions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from seesay import data
from seesay.data import entities
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.images.extraction import FeatureTable, features_of
from seesay.metrics.captions import perplexity
from seesay.models.base import Weights
from seesay.models.dvsa_captions import DVSACaptions, cut_regions, load_describer

N_IMAGES = 200
"""The first images of the split, whose phrases are asked for."""


def measure_phrases(weights: Weights, collection: data.Collection) -> dict[str, Any]:
    """The perplexity of the phrases of Flickr30k Entities, from which nothing was learned."""
    model = load_describer(weights.folder)
    boxed = entities.attach(collection, data.locate("flickr30k_entities"))
    phrases = [phrase for phrase in boxed_phrases(boxed) if phrase.item < N_IMAGES]
    table = features_of(boxed.images[:N_IMAGES], model.feature_spec, ("pooled", "map"))
    return {"perplexity": round(phrase_perplexity(model, table, phrases), 4), "n_phrases": len(phrases)}


@torch.inference_mode()
def phrase_perplexity(model: DVSACaptions, table: FeatureTable, phrases: Sequence[BoxedPhrase]) -> float:
    """Perplexity of phrases given the box around all that they refer to."""
    total, n_words = 0.0, 0
    for item in sorted({phrase.item for phrase in phrases}):
        own = [phrase for phrase in phrases if phrase.item == item]
        around = [np.concatenate([p.boxes[:, :2].min(axis=0), p.boxes[:, 2:].max(axis=0)]) for p in own]
        regions = model.encode_images(cut_regions(table.rows([item]), np.array(around, np.float32)))
        texts = [phrase.text for phrase in own]
        total += float(model.log_prob(regions, texts).sum())
        n_words += int(model.predicted_rows(texts)[2].sum())
    return perplexity([total], [n_words], base=math.e)
