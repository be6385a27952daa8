"""Consensus reranking of captions by those of similar images (m-RNN section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from seesay.captioning.consensus import Consensus, Metric, rerank
from seesay.captioning.sentences import Caption
from seesay.captioning.settings import Settings
from seesay.data.collection import Collection
from seesay.errors import SeesayError
from seesay.images.extraction import extract
from seesay.images.feature_store import FeatureStore, FeatureTable
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.metrics.neighbours import nearest
from seesay.runtime.protocol import Answering
from seesay.system.progress import Progress
from seesay.text.tokens import tokenize

FREQUENCIES = "frequencies.safetensors"
"""Beside the weights: in how many of their training images people use an n-gram."""

KNOWS_RARE = 1000
"""Captioned images from which on a collection's own words say which of them are rare."""


@dataclass(frozen=True, eq=False)
class Reranker:
    """The images of a captioned collection as a captioner sees them, and their captions."""

    vectors: NDArray[np.float32]  # (n_images, D)
    consensus: Consensus
    n_failed: int = 0

    @classmethod
    def of(
        cls,
        model: Answering,
        collection: Collection,
        metric: str = "cider",
        *,
        on_progress: Progress | None = None,
    ) -> "Reranker":
        """Take the references of a collection: its training images, or all where it has no splits.

        Images that are missing or damaged are left out; `n_failed` counts them. Which words are rare, as CIDEr asks,
        the collection itself says best; one that is too small to know takes the table that lies with the weights.

        Raises:
            SeesayError: No image is left.
        """
        collection = collection.split("train") if "train" in collection.splits else collection
        store = FeatureStore(model.feature_spec, outputs=model.outputs)
        extraction = extract(collection.images, store, on_progress=on_progress)
        items = [(item, key) for item in collection.items if item.image and (key := extraction.keys[item.image])]
        if not items:
            raise SeesayError(
                f"{collection.name} has no images whose captions could be compared",
                hint=f"seesay data check {collection.root}",
            )
        table = FeatureTable(store, [key for _, key in items])
        captions = [[tokenize(sentence) for sentence in item.sentences] for item, _ in items]
        frequencies = _read_frequencies(model) if len(items) < KNOWS_RARE else None
        consensus = Consensus(captions, cast(Metric, metric), frequencies=frequencies)
        return cls(refine_images(model, table), consensus, len(collection) - len(items))

    def scores(
        self, vectors: NDArray[np.float32], captions: Sequence[Sequence[Caption]], k: int, m: int
    ) -> list[NDArray[np.float64]]:
        """The consensus score of each caption of images with these refined features (n, D)."""
        hypotheses = [[caption.words for caption in own] for own in captions]
        return self.consensus.similarities(hypotheses, nearest(vectors, self.vectors, k)).scores(m)


def _read_frequencies(model: Answering) -> DocumentFrequencies | None:
    path = model.weights.folder / FREQUENCIES if model.weights else None
    return DocumentFrequencies.load(path) if path and path.is_file() else None


def refine_images(model: Answering, table: FeatureTable, *, batch: int = 512) -> NDArray[np.float32]:
    """What a captioner sees in images, as vectors whose neighbours look alike to it: (n, D)."""
    blocks = [range(start, min(start + batch, len(table))) for start in range(0, len(table), batch)]
    return np.concatenate([model.refine(model.encode_images(table.arrays(rows))) for rows in blocks])


def order_by_consensus(
    captions: list[list[Caption]], refined: NDArray[np.float32], reranker: Reranker, settings: Settings
) -> list[list[Caption]]:
    """The captions of images by falling consensus score, for images with these refined features (n, D)."""
    scores = reranker.scores(refined, captions, settings.k, settings.m)
    scored = [
        [replace(each, consensus=float(score)) for each, score in zip(own, of_own, strict=True)]
        for own, of_own in zip(captions, scores, strict=True)
    ]
    return rerank(scored, scores)
