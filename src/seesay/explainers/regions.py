"""Which part of a picture a word speaks of, by any matcher and without further training.

A matcher whose picture vector is made from the mean of the network's final map has a vector for every cell of that map
too: the cell taken for the whole picture. The cosine of a word with the cells is a map of the word. Every map has hot
spots in common, which say what is striking and not what is meant, so the map of a common word, the mean over many of
them, is taken off. On the phrases of Flickr30k Entities that speak of Flickr8K's dev photos this points better.

An aligner (`seesay.models.aligner`) has learned vectors for regions and for words, and is asked for them.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.features import Features
from seesay.images.regions import whole_and_grid
from seesay.models.aligner import Aligner
from seesay.models.base import Matcher
from seesay.text.vocabulary import SPECIAL

N_COMMON = 150
"""The most frequent words of the vocabulary, whose mean is the common word."""

Maps = NDArray[np.float64]


@torch.inference_mode()
def word_maps(model: Matcher, features: Features, words: Sequence[str]) -> Maps:
    """How much each cell of a picture's map speaks for words: (n_words, h, w), higher is more.

    Args:
        model: Any matcher that keeps pictures and sentences as vectors of one space, or an aligner.
        features: Of one picture, with its map, as `model.features` gives them.
        words: Words or phrases, each read for itself.

    Raises:
        SeesayError: The model does not keep pictures as vectors that could be compared with words.

    Example:
        >>> from PIL import Image
        >>> from seesay.models.pretrained import load
        >>> model = load("vse")
        >>> word_maps(model, model.features([Image.new("RGB", (64, 64), "green")]), ["grass", "a red bus"]).shape
        (2, 10, 10)
    """
    if len(features) != 1 or features.map is None:
        raise ValueError(f"word maps are of one picture with its map, not of {len(features)}")
    _, height, width, channels = features.map.shape
    if isinstance(model, Aligner):
        cells = model.encode_regions(features, whole_and_grid(height, width)[1:])[0]  # (h · w, D)
        texts = model.encode_phrases(words)  # (n, D)
    else:
        vectors = features.map.reshape(-1, channels)
        # Where a model looks at several regions of the map, a cell is one of which every region shows the same.
        cells = model.encode_images(Features(vectors, vectors[:, None, None]))
        texts = _vectors(model, [*words, *_common_words(model)])
        if cells.ndim != 2 or cells.shape[1] != texts.shape[1]:
            raise _no_vectors(model)
        texts = texts[: len(words)] - texts[len(words) :].mean(0)
    maps: Maps = (texts @ cells.T).view(len(words), height, width).double().numpy()
    return maps


def as_heat(maps: Maps, least: float = 0.2) -> Maps:
    """Maps as heat from 0 to 1: cold up to a map's median, hottest at its peak.

    Args:
        maps: (n, h, w).
        least: How much a peak has to rise above the median to be as hot as can be; the map of a word that is nowhere
            in the picture is flat, and stays pale instead of glowing at random.

    Example:
        >>> as_heat(np.array([[[0.0, 0.0, 0.4, 0.2]], [[0.0, 0.0, 0.0, 0.1]]])).round(2).tolist()
        [[[0.0, 0.0, 1.0, 0.33]], [[0.0, 0.0, 0.0, 0.5]]]
    """
    middle = np.median(maps, axis=(1, 2), keepdims=True)
    rise = np.maximum(maps.max(axis=(1, 2), keepdims=True) - middle, least)
    heat: Maps = ((maps - middle) / rise).clip(0, 1)
    return heat


def place_in_words(box: Sequence[float]) -> str:
    """Where a box lies in a picture, for those who cannot see it.

    Args:
        box: Left, top, right, bottom as fractions of the picture.

    Example:
        >>> [place_in_words(box) for box in ((0, 0.7, 0.3, 1), (0, 0, 1, 0.3), (0.4, 0.3, 0.6, 0.7), (0, 0, 1, 0.9))]
        ['at the lower left', 'at the top', 'in the middle', 'almost everywhere']
    """
    left, top, right, bottom = box
    if (right - left) * (bottom - top) > 0.6:
        return "almost everywhere"
    column = _third(left, right, "left", "right")
    row = _third(top, bottom, "upper", "lower")
    if row and column:
        return f"at the {row} {column}"
    if row:
        return "at the top" if row == "upper" else "at the bottom"
    return f"at the {column}" if column else "in the middle"


def _third(start: float, end: float, first: str, last: str) -> str:
    middle = (start + end) / 2
    if end - start > 0.75 or 0.4 <= middle <= 0.6:
        return ""
    return first if middle < 0.4 else last


def _common_words(model: Matcher) -> Sequence[str]:
    return model.vocabulary.words[len(SPECIAL) : len(SPECIAL) + N_COMMON]  # the most frequent come first


def _vectors(model: Matcher, texts: Sequence[str]) -> Tensor:
    encoded = model.encode_texts(texts)
    if not isinstance(encoded, Tensor) or encoded.ndim != 2:
        raise _no_vectors(model)
    return encoded


def _no_vectors(model: Matcher) -> SeesayError:
    name = model.weights.name if model.weights else model.family
    return SeesayError(f"{name} cannot say which part of a picture a word speaks of", hint="seesay models")
