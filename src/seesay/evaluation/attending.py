"""Does sm-LSTM look where the words that it reads are? Measured on the boxes of Flickr30k Entities.

At each step the most salient words of a sentence that lie in a boxed phrase are taken, and the peak of the step's map
has to lie in one of that phrase's boxes (the pointing game). Beside it stands the centre of the picture for the same
phrases. Nothing learned from the boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.images.extraction import features_of
from seesay.metrics.grounding import peaks, pointing_game
from seesay.models.base import without_dropout
from seesay.models.smlstm import SMLSTM
from seesay.system.progress import Progress

N_WORDS = 2
"""Words of a step that count, as many as the paper's pictures show."""


@dataclass(frozen=True)
class Attended:
    """What the steps look at.

    Attributes:
        pointing: (T,) percent of the attended words whose place the step looks at.
        centre: (T,) percent of the same words whose place is in the middle of the picture.
        n_words: (T,) attended words that have a box.
        boxed: (T,) percent of the attended words that have one.
        maps: (T, h, w) the mean map of each step, over all sentences with their own pictures (Figure 6).
        change: (T - 1,) how far each step's map is from the one before, from 0 to 1: half the sum of differences.
    """

    pointing: NDArray[np.float64]
    centre: NDArray[np.float64]
    n_words: NDArray[np.int64]
    boxed: NDArray[np.float64]
    maps: NDArray[np.float64]
    change: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and lists."""
        return {
            "pointing": self.pointing.round(2).tolist(),
            "centre": self.centre.round(2).tolist(),
            "n_words": self.n_words.tolist(),
            "boxed": self.boxed.round(2).tolist(),
            "change": self.change.round(4).tolist(),
            "maps": self.maps.round(5).tolist(),
        }


@torch.inference_mode()
def evaluate_attention(
    model: SMLSTM, collection: Collection, *, store: Path | None = None, on_progress: Progress | None = None
) -> Attended:
    """Look at every sentence of a collection with its own picture.

    Args:
        model: With a variant that attends.
        collection: One split, to which `seesay.data.entities.attach` gave boxes.
        store: The folder of the feature store, where it is not the user's own.
        on_progress: Called with the pictures that are done, and all.

    Raises:
        SeesayError: The variant does not attend, or no phrase has a box.
    """
    if not model.pairs.attends:
        raise SeesayError(f"the variant {model.config.variant} does not attend", allowed="full, att")
    phrases = boxed_phrases(collection)
    if not phrases:
        raise SeesayError(f"no phrase of {collection.name} has a box", hint="--entities flickr30k_entities")
    table = features_of(collection.images, model.feature_spec, model.outputs, root=store)
    n_steps = model.config.n_steps
    found: list[list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = [[] for _ in range(n_steps)]  # point, boxes
    total, n_sentences, n_read = 0.0, 0, 0
    change = np.zeros(n_steps - 1)
    with without_dropout(model):
        for place, item in enumerate(collection.items):
            features = table.rows([place])
            looked = model.look(model.encode_images(features), model.encode_texts(item.sentences))
            shape = model.map_shape(features)
            maps = looked.regions[:, 0].double().view(n_steps, len(item.sentences), *shape).numpy()  # (T, L, h, w)
            words = looked.words[:, 0].double().numpy()  # (T, L, J)
            own = [phrase for phrase in phrases if phrase.item == place] if item.phrases else []
            for step in range(n_steps):
                points = peaks(maps[step])
                for sentence in range(len(item.sentences)):
                    for phrase in _read(words[step, sentence], [one for one in own if one.sentence == sentence]):
                        found[step].append((points[sentence], phrase.boxes))
            total = total + maps.sum(axis=1)
            change += np.abs(np.diff(maps, axis=0)).sum(axis=(1, 2, 3)) / 2
            n_sentences += len(item.sentences)
            n_read += sum(min(N_WORDS, int((row > 0).sum())) for row in words[0])
            if on_progress:
                on_progress(place + 1, len(collection))
    middle = np.array([0.5, 0.5])
    return Attended(
        np.array([_pointing([point for point, _ in step], [boxes for _, boxes in step]) for step in found]),
        np.array([_pointing([middle] * len(step), [boxes for _, boxes in step]) for step in found]),
        np.array([len(step) for step in found]),
        np.array([100 * len(step) / max(1, n_read) for step in found]),
        np.asarray(total) / n_sentences,
        change / n_sentences,
    )


def _read(weights: NDArray[np.float64], phrases: Sequence[BoxedPhrase]) -> list[BoxedPhrase]:
    """The phrases in which the most salient words lie, one for each word."""
    top = np.argsort(-weights, kind="stable")[:N_WORDS].tolist()
    return [phrase for word in top for phrase in phrases if phrase.span[0] <= word < phrase.span[1]]


def _pointing(points: Sequence[NDArray[np.float64]], boxes: Sequence[NDArray[np.float64]]) -> float:
    return pointing_game(np.stack(points), boxes) if points else float("nan")
