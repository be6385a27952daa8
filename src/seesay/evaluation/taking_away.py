"""Take away what an explainer calls important: the score has to fall.

Hiding: the most salient part of a photo is painted grey; the score has to fall further than for the same shape
elsewhere. Leaving out: the same for the heaviest words of a sentence, beside random ones.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from seesay.data import Collection
from seesay.engines import answering
from seesay.evaluation.gradients import PRODUCT, gradient_maps, word_gradients
from seesay.explainers.explaining import explain
from seesay.explainers.registry import explainers_of
from seesay.images.backbones import Backbone
from seesay.images.extraction import FeatureTable
from seesay.images.features import Features, preprocess
from seesay.images.io import open_image
from seesay.models.base import Matcher
from seesay.text.tokens import tokenize

Floats = NDArray[np.float64]
Falls = dict[str, dict[str, float]]
"""For each way of choosing: how much is taken away → by how much the score falls."""

SHARES = (0.1, 0.2, 0.4)
"""Of a photo that are hidden."""
N_LEFT_OUT = (1, 2)
"""Words of a sentence that are left out."""
SHORTEST = 4
"""Words that a sentence needs to lose some."""
GREY = 127
ELSEWHERE, RANDOM = "same shape elsewhere", "random word"


def maps_of(model: Matcher, features: Features, sentence: str) -> dict[str, Floats]:
    """The maps of all explainers of a model, by name."""
    given = answering(model), features.to_arrays(), sentence
    return {name: explain(*given, name).map for name in explainers_of(model)}


def measure_hiding(
    model: Matcher, collection: Collection, table: FeatureTable, backbone: Backbone, rng: np.random.Generator
) -> Falls:
    """By how much the score falls, on average, when a share of the photo is hidden."""
    falls: dict[str, dict[float, list[float]]] = {}
    first = explainers_of(model)[0]
    for number, item in enumerate(collection.items):
        assert item.image is not None
        sentence, features = item.sentences[0], table.rows([number])
        pixels = preprocess(open_image(item.image, at_least=backbone.size), backbone.size, "squash")[0]
        maps = maps_of(model, features, sentence) | gradient_maps(model, features, sentence)
        shapes = {
            (name, share): hottest_share(found, share, backbone.size)
            for name, found in maps.items()
            for share in SHARES
        }
        for share in SHARES:  # rolled around the edges
            shift = rng.integers(backbone.size // 4, 3 * backbone.size // 4, 2)
            shapes[ELSEWHERE, share] = np.roll(shapes[first, share], tuple(shift), (0, 1))
        views = np.stack([pixels, *(np.where(mask[..., None], GREY, pixels) for mask in shapes.values())])
        cells, vectors = backbone(torch.from_numpy(views.astype(np.uint8)))
        with torch.inference_mode():
            scores = model.score(model.encode_images(Features(vectors, cells)), model.encode_texts([sentence]))[:, 0]
        for (name, share), score in zip(shapes, scores[1:].tolist(), strict=True):
            falls.setdefault(name, {}).setdefault(share, []).append(float(scores[0]) - score)
    return _means(falls)


def measure_leaving_out(model: Matcher, collection: Collection, table: FeatureTable, rng: np.random.Generator) -> Falls:
    """By how much the score falls, on average, when one or two words are left out."""
    falls: dict[str, dict[float, list[float]]] = {}
    for number, item in enumerate(collection.items):
        features = table.rows([number])
        for sentence in item.sentences:
            words = tokenize(sentence)
            if len(words) < SHORTEST:
                continue
            given = answering(model), features.to_arrays(), sentence
            weights = {name: explain(*given, name).weights for name in explainers_of(model)}
            gradients = word_gradients(model, features, sentence, len(words))
            if gradients is not None:
                weights[PRODUCT] = gradients
            weights[RANDOM] = rng.random(len(words))
            left = {
                (name, n): [word for place, word in enumerate(words) if place not in np.argsort(-some)[:n]]
                for name, some in weights.items()
                for n in N_LEFT_OUT
            }
            with torch.inference_mode():
                texts = model.encode_texts([" ".join(some) for some in (words, *left.values())])
                scores = model.score(model.encode_images(features), texts)[0]
            for (name, n), score in zip(left, scores[1:].tolist(), strict=True):
                falls.setdefault(name, {}).setdefault(n, []).append(float(scores[0]) - score)
    return _means(falls)


def hottest_share(found: Floats, share: float, size: int) -> NDArray[np.bool_]:
    """The hottest share of an image (size, size), after spreading its map smoothly over it.

    Example:
        >>> hottest_share(np.array([[0.0, 0.0], [0.0, 1.0]]), 0.25, 4)[2:, 2:].all()
        np.True_
    """
    spread = np.asarray(Image.fromarray(found.astype(np.float32)).resize((size, size), Image.Resampling.BICUBIC))
    return np.asarray(spread > np.quantile(spread, 1 - share))


def _means(falls: dict[str, dict[float, list[float]]]) -> Falls:
    return {
        name: {f"{much:g}": round(float(np.mean(some)), 3) for much, some in row.items()} for name, row in falls.items()
    }
