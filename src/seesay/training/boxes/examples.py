"""Photos with boxed phrases as an aligner sees them: what a box finder learns from and is measured on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data import Collection
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.grounding.cells import CellMaps, Cells
from seesay.runtime.protocol import Answering
from seesay.text.tokens import tokenize
from seesay.training.finishing.doubt import draw_foreign

SIDED = frozenset({"left", "right", "leftmost", "rightmost", "leftest", "rightest"})
"""Words that are wrong in a mirror."""
SEED = 0


@dataclass(frozen=True, eq=False)
class BoxedPhoto:
    """One photo with its distinct phrases.

    Attributes:
        path: The photo.
        maps, place: Where the vectors of its places are.
        vectors: (n, D) of the phrases, each read for itself.
        boxes: The boxes of each, (n_boxes, 4).
        around: (n, 4) the box around them.
        counts: (n,) how many sentences have the phrase.
        foreign: (k, D) phrases of other photos, which nobody said of this one.
        may_mirror: Whether all phrases are true of its mirror image.
    """

    path: Path
    maps: CellMaps
    place: int
    vectors: Tensor
    boxes: list[NDArray[np.float64]]
    around: Tensor
    counts: Tensor
    foreign: Tensor
    may_mirror: bool

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def cells(self) -> Tensor:
        """(D, S, S)."""
        return torch.from_numpy(self.maps[self.place])


def gather(model: Answering, collection: Collection, side: float, seed: int = SEED) -> list[BoxedPhoto]:
    """The photos of a collection that have boxed phrases.

    Args:
        side: Of the crops in which each photo is seen.
        seed: Draws the phrases of other photos.
    """
    own: dict[int, dict[tuple[str, bytes], list[BoxedPhrase]]] = {}
    for phrase in boxed_phrases(collection):
        key = phrase.text.lower(), phrase.boxes.tobytes()
        own.setdefault(phrase.item, {}).setdefault(key, []).append(phrase)
    texts = {item: [text for text, _ in phrases] for item, phrases in own.items()}
    foreign = draw_foreign(texts, [item.sentences for item in collection.items], seed)
    vectors = _read(model, [*texts.values(), *foreign.values()])
    paths = [path for item in own if (path := collection.items[item].image)]
    maps = CellMaps(model, paths, side)
    photos = []
    for place, (item, phrases) in enumerate(own.items()):
        boxes = [several[0].boxes for several in phrases.values()]
        around = np.array([[*each[:, :2].min(0), *each[:, 2:].max(0)] for each in boxes], np.float32)
        counts = torch.tensor([float(len(several)) for several in phrases.values()])
        others = vectors(foreign[item])[: max(1, len(boxes) // 4)]
        may_mirror = not any(SIDED.intersection(tokenize(text)) for text in texts[item])
        photo = BoxedPhoto(
            paths[place], maps, place, vectors(texts[item]), boxes, torch.from_numpy(around), counts, others, may_mirror
        )
        photos.append(photo)
    return photos


class _Vectors:
    """The vectors of texts, each read once."""

    def __init__(self, model: Answering, texts: Sequence[str]) -> None:
        order = sorted(set(texts), key=lambda text: (len(text.split()), text))
        read = [model.encode_phrases(order[start : start + 256]) for start in range(0, len(order), 256)]
        self._rows = torch.from_numpy(np.concatenate(read))
        self._places = {text: place for place, text in enumerate(order)}

    def __call__(self, texts: Sequence[str]) -> Tensor:
        return self._rows[[self._places[text] for text in texts]]


def _read(model: Answering, several: Sequence[Sequence[str]]) -> _Vectors:
    return _Vectors(model, [text for texts in several for text in texts])


def covered(boxes: NDArray[np.float64], side: int) -> Cells:
    """The share of each place of a map that some box covers: (n, 4) → (S, S).

    Example:
        >>> covered(np.array([[0.0, 0.0, 0.75, 0.5]]), 2).tolist()
        [[1.0, 0.5], [0.0, 0.0]]
    """
    lines = np.arange(side + 1) / side
    across, down = (
        (np.minimum(boxes[:, end, None], lines[1:]) - np.maximum(boxes[:, start, None], lines[:-1])).clip(0) * side
        for start, end in ((0, 2), (1, 3))
    )
    shares: Cells = (down[:, :, None] * across[:, None]).max(0).astype(np.float32)
    return shares
