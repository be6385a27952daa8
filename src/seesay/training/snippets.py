"""Snippets: the noun phrases of sentences, each with the region that was found for it.

DVSA's second model learns from what its first one has found (Karpathy & Fei-Fei 2015, section 3.2): the alignment
model, which has seen no box, says where each phrase belongs, and the caption RNN learns to write the phrase when it is
shown that region. The paper takes runs of words from the Markov chain; noun phrases make cleaner things to say.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.grounding.heat import box_overlaps, heat_maps
from seesay.images.extraction import FeatureStore, FeatureTable, features_of
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes, fixed_regions
from seesay.models.aligner import Aligner, load_aligner
from seesay.text.trees import noun_snippets, parse
from seesay.text.vocabulary import END
from seesay.training.recipe import SourceRecipe
from seesay.training.sources import read_whole_collection

REGIONS = "windows-100"
"""The regions that a phrase may get: selective search would take longer than all of the training."""
_AT_ONCE = 512


class RegionTable(FeatureTable):
    """Regions in place of images: each with the mean of its map, beside the vector of the image that it is from."""

    def __init__(self, table: FeatureTable, image_of: NDArray[np.intp], regions: NDArray[np.float16]) -> None:
        super().__init__(table.store, table.keys)
        self._image_of = image_of  # (n,)
        self._regions = regions  # (n, C)

    def __len__(self) -> int:
        return len(self._regions)

    def rows(self, indices: Sequence[int]) -> Features:
        own = np.asarray(indices, np.intp)
        frames = torch.from_numpy(self._pooled[self._image_of[own]]).float()
        return Features(frames, parts=torch.from_numpy(self._regions[own]).float().unsqueeze(1))


def read_snippets(recipe: SourceRecipe, spec: FeatureSpec) -> Examples:
    """The snippets of what a recipe names, as examples."""
    if recipe.sentences_only:
        raise SeesayError(f"snippets of {recipe.source} need images", allowed="sentences_only = false")
    collection = read_whole_collection(recipe)
    phrases, table = find_snippets(collection, recipe.snippets, spec)
    return Examples(collection, phrases, np.arange(len(phrases)), table, recipe.weight)


@lru_cache(maxsize=1)  # runs of one process that are compared learn from the same snippets
@torch.inference_mode()
def find_snippets(collection: Collection, weights: str, spec: FeatureSpec) -> tuple[list[str], RegionTable]:
    """The snippets of all sentences of a collection, and their regions, in the same order.

    Args:
        collection: Images, all of which are there, and sentences.
        weights: Of an alignment model, by name or folder.
        spec: Which features; the alignment model has to see the same ones.

    Raises:
        SeesayError: The weights know no regions or see other features, or no sentence has a noun phrase.
    """
    model = load_aligner(weights)
    if model.feature_spec != spec:
        raise SeesayError(f"{weights} sees {model.feature_spec.name}, not {spec.name}", hint="seesay models")
    phrases, image_of = _read_phrases(collection)
    if not phrases:
        raise SeesayError(f"no sentence of {collection.name} has a noun phrase")
    table = features_of(collection.images, spec, ("pooled", "map"))
    boxes = fixed_regions(REGIONS)
    vectors = _vectors(model, phrases)
    regions = np.empty((len(phrases), table.rows([0]).pooled.shape[1]), np.float16)
    for image in range(len(table)):
        own = np.flatnonzero(image_of == image)
        if len(own):
            regions[own] = _lay(model, table.rows([image]), vectors[own], boxes)
    return phrases, RegionTable(FeatureTable(FeatureStore(spec), table.keys), image_of, regions)


def _read_phrases(collection: Collection) -> tuple[list[str], NDArray[np.intp]]:
    """Every snippet, and the number of its image."""
    phrases: list[str] = []
    image_of: list[int] = []
    numbers = [number for number, item in enumerate(collection.items) for _ in item.sentences]
    for number, tree in zip(numbers, parse(collection.sentences), strict=True):
        words = tree.words
        found = [" ".join(words[first:last]) for first, last in noun_snippets(tree)]
        phrases += found
        image_of += [number] * len(found)
    return phrases, np.array(image_of, np.intp)


def _vectors(model: Aligner, phrases: list[str]) -> Tensor:
    """What each phrase looks for, read by itself: (n, D)."""
    distinct = list(dict.fromkeys(phrases))
    rows = []
    for start in range(0, len(distinct), _AT_ONCE):
        texts = model.encode_texts(distinct[start : start + _AT_ONCE])
        is_word = texts.mask & (texts.words > END)  # not what stands for a sentence as a whole
        rows.append((texts.states * is_word.unsqueeze(-1)).sum(1))
    place = {phrase: row for row, phrase in enumerate(distinct)}
    return torch.cat(rows)[[place[phrase] for phrase in phrases]]


def _lay(model: Aligner, features: Features, vectors: Tensor, boxes: Boxes) -> NDArray[np.float16]:
    """The means over the regions of one image that fit phrases best: (n, D) → (n, C)."""
    best = box_overlaps(heat_maps(answering(model), features.to_arrays(), vectors.numpy()), boxes).argmax(axis=1)
    regions: NDArray[np.float16] = features.regions(boxes[best])[0].numpy().astype(np.float16)
    return regions
