"""Captioned images among which neighbours are looked for, and the sentences that are reranked by their captions."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seesay.captioning.captions import caption_images
from seesay.captioning.reranking import refine_images
from seesay.captioning.settings import Settings
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.images.extraction import features_of
from seesay.images.feature_store import FeatureTable
from seesay.runtime.protocol import Answering
from seesay.system.progress import Progress
from seesay.text.tokens import tokenize

Hypotheses = list[list[list[str]]]


@dataclass(frozen=True, eq=False)
class Bank:
    """Captioned images among which neighbours are looked for.

    Attributes:
        name: Of the collection.
        keys: Content keys of the images.
        vectors: (n_images, D) as the captioner sees them.
        captions: Tokens, image by image.
    """

    name: str
    keys: list[str]
    vectors: NDArray[np.float32]
    captions: Hypotheses

    def without(self, source: Examples) -> "Bank":
        """Leave out images that are measured on: those who captioned an image do not help to caption it.

        Raises:
            SeesayError: No image is left.
        """
        measured = set(features_in(source).keys)
        kept = [place for place, key in enumerate(self.keys) if key not in measured]
        if not kept:
            raise SeesayError(
                f"all images of the references {self.name} are measured on",
                hint="--references with a collection that has a train split",
            )
        keys, captions = [self.keys[place] for place in kept], [self.captions[place] for place in kept]
        return Bank(self.name, keys, self.vectors[kept], captions)


def read_bank(
    model: Answering, collection: Collection, *, store: Path | None = None, on_progress: Progress | None = None
) -> Bank:
    """The training images of a collection, or all where it has no splits, as a captioner sees them.

    Raises:
        SeesayError: None of the images is there, or one is broken.
    """
    collection = (collection.split("train") if "train" in collection.splits else collection).with_images()
    if not collection.items:
        raise SeesayError(
            f"{collection.name} has no images to find neighbours among", hint=f"seesay data check {collection.root}"
        )
    table = features_of(collection.images, model.feature_spec, model.outputs, root=store, on_progress=on_progress)
    return Bank(collection.name, table.keys, refine_images(model, table), references_of(Examples.of(collection, table)))


def write_hypotheses(
    model: Answering, source: Examples, settings: Settings, *, on_progress: Progress | None = None
) -> Hypotheses:
    """The best sentences of a beam as wide as `settings.candidates`, for each image."""
    n, table = settings.candidates, features_in(source)
    wide = replace(settings, beam=n)
    written = caption_images(model, table, n_best=n, settings=wide, on_progress=on_progress)
    return [[list(caption.words) for caption in several] for several in written]


def references_of(source: Examples) -> list[list[list[str]]]:
    """The tokens of all sentences of each image."""
    return [[tokenize(sentence) for sentence in item.sentences] for item in source.collection.items]


def features_in(source: Examples) -> FeatureTable:
    """The features of a source that has images."""
    assert source.table is not None
    return source.table
