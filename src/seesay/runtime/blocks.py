"""All images against all sentences by a graph, a block of pairs at a time."""

from typing import Any

import numpy as np

from seesay.images.arrays import Floats
from seesay.runtime.computed import Computed
from seesay.runtime.folder import Session
from seesay.runtime.protocol import Texts


def score_in_blocks(session: Session | Computed, images: Floats, texts: Any, n_images: int, n_texts: int) -> Floats:
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
