"""Scores of search, without a library: every photo of a split with every sentence."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from seesay.data.collection import Collection
from seesay.images.extraction import features_of
from seesay.models.base import Captioner, Matcher
from seesay.models.pretrained import load
from seesay.models.weights import find, tuned_table
from seesay.settings.blend import NORMALISATION, Blend

Scores = NDArray[np.float32]


@torch.inference_mode()
def score_texts(model: Matcher, photos: Collection, texts: Sequence[str], *, at_once: int = 100) -> Scores:
    """What a model as a stage of search gives every photo for every sentence: (n_texts, n_photos)."""
    features = features_of(photos.images, model.feature_spec, model.outputs).rows(range(len(photos)))
    images = model.encode_images(features)
    options = {"normalise": NORMALISATION} if isinstance(model, Captioner) else {}
    blocks = [texts[start : start + at_once] for start in range(0, len(texts), at_once)]
    return np.concatenate([model.score(images, model.encode_texts(block), **options).numpy().T for block in blocks])


def score_stages(names: Sequence[str], photos: Collection, texts: Sequence[str]) -> Scores:
    """The scores after some stages of search, the first of which is an embedding: (n_texts, n_photos).

    Args:
        names: Weights; those after the first have a table `cascade`.
    """
    scores = score_texts(load(names[0]), photos, texts)
    for name in names[1:]:
        scores = read_blend(name).blend(scores, score_texts(load(name), photos, texts))
    return scores


def read_blend(name: str) -> Blend:
    """The blend of a later stage."""
    weights = find(name)
    return Blend.from_table(tuned_table(weights, "cascade"), str(weights.folder / "config.json"))
