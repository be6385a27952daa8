"""How much tags count: queries with the name of an ImageNet class, by how often training saw that word.

Every query is asked twice: as it is, and with the word struck out, as if training had never seen it. Both times the
tags that the word names add λ · √p to the cosine, where λ falls with how often the word was seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.images.extraction import features_of
from seesay.models.base import Matcher
from seesay.settings.tags import TagSettings
from seesay.text.tokens import tokenize
from seesay.training.finishing.cascade import AT, ranks_of
from seesay.training.finishing.choosing import choose

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
WELL_KNOWN = (50, 100, 200, 500, 1000, 2000)
MOST_SEEN = 2000
"""Words that were seen more often need no help, and their queries say nothing."""
STRUCK_OUT = "xyzzyx"  # in no vocabulary

Scores = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TagQueries:
    """Queries of one split, each with one word that names a class.

    Attributes:
        known: (n_queries, n_photos) cosines.
        struck: The same without the word.
        named: (n_queries, n_photos) √p of the classes that the word names.
        counts: (n_queries,) how often training saw the word.
        owners: (n_queries,) the photo that the query was written about.
    """

    known: Scores
    struck: Scores
    named: Scores
    counts: NDArray[np.int64]
    owners: NDArray[np.int64]

    def gains(self, settings: TagSettings) -> NDArray[np.float64]:
        """How many of R@1, R@5 and R@10 each query reaches, as it is and with its word struck out: (2 · n_queries,)."""
        weights = np.array([settings.weight_of(int(count)) for count in self.counts], np.float32)[:, None]
        asked = (self.known + weights * self.named, self.struck + np.float32(settings.weight) * self.named)
        ranks = np.concatenate([ranks_of(scores, self.owners) for scores in asked])
        return np.asarray((ranks[:, None] < np.array(AT)).sum(1), np.float64)


def choose_tags(splits: Sequence[TagQueries], present: TagSettings) -> tuple[TagSettings, dict[str, float]]:
    """The weight and the count of a well-known word that dev prefers.

    Returns:
        The settings, and R@1 + R@5 + R@10 in percent by `weight well_known`, the mean over all queries.
    """
    now = (present.weight, present.well_known)
    gains = {
        (weight, known): np.concatenate(
            [split.gains(replace(present, weight=weight, well_known=known)) for split in splits]
        )
        for weight, known in dict.fromkeys([now, *product(WEIGHTS, WELL_KNOWN)])
    }
    weight, known = choose(gains, now)
    figures = {f"{weight:g} {known}": round(100 * float(each.mean()), 2) for (weight, known), each in gains.items()}
    return replace(present, weight=weight, well_known=known), figures


def gather(
    model: Matcher,
    photos: Collection,
    content_words: Callable[[str], list[str]],
    classes_named: Callable[[str], Mapping[int, float]],
    likeliest_tags: Callable[[NDArray[np.float32]], Sequence[tuple[int, float]]],
) -> TagQueries:
    """The sentences of a split with a word that names a class and is not well known.

    Args:
        content_words: The words of a sentence that say what is to be seen.
        classes_named: The ImageNet classes that a word names.
        likeliest_tags: The tags that a library keeps of a classifier's probabilities.
    """
    features = features_of(photos.images, model.feature_spec, model.outputs).rows(range(len(photos)))
    classifier = model.feature_spec.load_backbone().classifier
    if classifier is None:
        raise SeesayError(f"{model.feature_spec.backbone} has no classifier, so its photos have no tags")
    count = model.caption_words.count
    queries = [
        (place, sentence, word)
        for place, item in enumerate(photos.items)
        for sentence in item.sentences
        if (word := next((w for w in content_words(sentence) if len(w) > 2 and classes_named(w)), None))
        and count(word) < MOST_SEEN
    ]
    if not queries:
        raise SeesayError(f"no sentence of {photos.name} has a rare word that names a class of ImageNet")
    struck = [
        " ".join(STRUCK_OUT if word == own else word for word in tokenize(sentence)) for _, sentence, own in queries
    ]
    with torch.inference_mode():
        images = model.encode_images(features)
        known, without = (
            (model.encode_texts(texts) @ images.T).numpy() for texts in ([query[1] for query in queries], struck)
        )
        tags = [dict(likeliest_tags(row)) for row in classifier(features.pooled).softmax(1).numpy()]
    named = np.array([[sum(tag.get(c, 0.0) for c in classes_named(word)) for tag in tags] for _, _, word in queries])
    return TagQueries(
        known,
        without,
        np.sqrt(np.minimum(named, 1.0)).astype(np.float32),
        np.array([count(word) for _, _, word in queries]),
        np.array([place for place, _, _ in queries]),
    )
