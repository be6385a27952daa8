"""Scores of search, without a library: every photo of a split with every sentence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.catalogue.weights import find, tuned_table
from seesay.data.collection import Collection
from seesay.images.extraction import features_of
from seesay.models.base import Matcher
from seesay.models.pretrained import load
from seesay.settings.blend import Blend
from seesay.settings.tags import TagSettings
from seesay.training.finishing.requests import QueryWords

Scores = NDArray[np.float32]


@torch.inference_mode()
def score_texts(
    model: Matcher, photos: Collection, texts: Sequence[str], *, among: NDArray[Any] | None = None, at_once: int = 100
) -> Scores:
    """What a model as a stage of search gives photos for sentences: (n_texts, n_photos).

    Args:
        among: (n_texts, k) the photos that a sentence is scored with, and the only ones whose scores count; the others
            have 0. A later stage of search sees no more than these, and a captioner's scores take their time.
    """
    images = encode_photos(model, photos)
    options = model.stage_options
    scores = np.zeros((len(texts), len(images)), np.float32)
    for start in range(0, len(texts), at_once):
        encoded = model.encode_texts(texts[start : start + at_once])
        if among is None:
            scores[start : start + at_once] = model.score(images, encoded, **options).numpy().T
            continue
        for place, near in enumerate(among[start : start + at_once]):
            found = model.score(images[torch.from_numpy(near)], encoded[place : place + 1], **options)
            scores[start + place, near] = found[:, 0].numpy()
    return scores


@torch.inference_mode()
def encode_photos(model: Matcher, photos: Collection) -> Tensor:
    """What a model keeps of photos: (n_photos, …)."""
    if (seen := _seen_by_others(model, photos)) is not None:
        return model.encode_pooled(seen)
    return model.encode_images(features_of(photos.images, model.feature_spec, model.outputs).rows(range(len(photos))))


def _seen_by_others(model: Matcher, photos: Collection) -> Tensor | None:
    """Vectors of photos by the network that other models see through, where a model can take these for its own."""
    spec = model.pooled_spec
    return features_of(photos.images, spec, ("pooled",)).rows(range(len(photos))).pooled if spec else None


def score_pairs(
    model: Matcher, photos: Collection, texts: Sequence[str], pairs: tuple[NDArray[Any], NDArray[Any]]
) -> Scores:
    """What a model gives pairs of a text and a photo, by their places: (n,)."""
    own = [pairs[1][pairs[0] == place] for place in range(len(texts))]
    most = max(map(len, own))
    among = np.array([np.resize(each, most) if len(each) else np.zeros(most, np.int64) for each in own])
    return np.asarray(score_texts(model, photos, texts, among=among)[pairs], np.float32)


def score_stages(names: Sequence[str], photos: Collection, texts: Sequence[str]) -> Scores:
    """The scores after some stages of search, the first of which is an embedding: (n_texts, n_photos).

    Args:
        names: Weights; those after the first have a table `cascade`.
    """
    scores = score_texts(load(names[0]), photos, texts)
    for name in names[1:]:
        blend = read_blend(name)
        model = load(name)
        knows = model.caption_words.knows
        own = score_texts(model, photos, texts, among=best(scores, blend.most(texts, knows)))
        scores = blend.blend(scores, own, texts, knows)
    return scores


@torch.inference_mode()
def tag_gains(model: Matcher, photos: Collection, texts: Sequence[str], words: QueryWords, how: TagSettings) -> Scores:
    """What the tags of photos add to the scores of the first stage for sentences with rare words: (n_texts, n_photos).

    Args:
        how: How much tags count.
    """
    gains = np.zeros((len(texts), len(photos)), np.float32)
    counts = [{word: model.caption_words.count(word) for word in words.content_words(text)} for text in texts]
    clues = [words.find_clues(each, how) for each in counts]
    classifier = model.feature_spec.load_backbone().classifier
    if classifier is None or not any(clues):
        return gains
    seen, width = _seen_by_others(model, photos), next(classifier.parameters()).shape[1]
    if seen is None or seen.shape[1] == width:  # the eye's own vector alone
        pooled = features_of(photos.images, model.feature_spec, ("pooled",)).rows(range(len(photos))).pooled
    else:
        pooled = seen[:, -width:]  # behind the eye's own stands that of ImageNet's network
    tags = [words.likeliest_tags(row) for row in classifier(pooled).softmax(1).numpy()]
    for row, own in enumerate(clues):
        if own:
            gains[row] = [sum(clue.worth(each) for clue in own) for each in tags]
    return gains


def best(scores: Scores, k: int) -> NDArray[Any]:
    """The k photos of each sentence with the highest scores, the highest first: (n_texts, k)."""
    return np.argsort(-scores, axis=1)[:, :k]


def read_blend(name: str) -> Blend:
    """The blend of a later stage."""
    weights = find(name)
    return Blend.from_table(tuned_table(weights, "cascade"), str(weights.folder / "config.json"))
