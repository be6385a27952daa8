"""All images against all sentences by a graph, a block of pairs at a time."""

from typing import Any

import numpy as np

from seesay.images.arrays import Floats
from seesay.runtime.folder import Opened
from seesay.runtime.protocol import Texts

_N_IMAGES, _N_TEXTS = 64, 32  # of a block of pairs
_MEMORY = 64 << 20  # bytes of the logits of a block, where a word's score is a sum over the vocabulary


def block_size(images: Floats, texts: Any, n_words: int) -> tuple[int, int]:
    """Images and sentences that are compared at once; those that are single vectors all together.

    Args:
        n_words: In the vocabulary of a model that gives every word a probability; else 0.
    """
    if not isinstance(texts, Texts):
        return max(1, len(images)), max(1, len(texts))
    return (max(1, _MEMORY // (4 * n_words)), 1) if n_words else (_N_IMAGES, _N_TEXTS)


def score_in_blocks(session: Opened, images: Floats, texts: Any, n_images: int, n_texts: int) -> Floats:
    """The scores of all pairs, (len(images), len(texts)); sentences of like length are read together."""
    scores = np.zeros((len(images), len(texts)), np.float32)
    order: Any = np.argsort(texts.lengths, kind="stable") if isinstance(texts, Texts) else np.arange(len(texts))
    for first in range(0, len(texts), n_texts):
        rows = order[first : first + n_texts]
        some = texts[rows]
        given = vars(some) if isinstance(some, Texts) else {"texts": some}
        for start in range(0, len(images), n_images):
            block = images[start : start + n_images]
            scores[start : start + n_images, rows] = session({"images": block, **given})[0]
    return scores
