"""Phrases that refer to something with a box, and their vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data import Collection, Item
from seesay.errors import SeesayError
from seesay.models.aligner import Aligner
from seesay.models.base import without_dropout
from seesay.text.tokens import token_spans

READINGS = ("phrase", "sentence")


@dataclass(frozen=True)
class BoxedPhrase:
    """A phrase that speaks of something with a box.

    Attributes:
        item: Which picture of the collection.
        sentence: Which sentence of the picture.
        span: Its tokens in the sentence, half-open.
        text: Its words as they stand in the sentence.
        kinds: What it is, roughly: people, clothing, …
        boxes: (n_boxes, 4) where it is.
    """

    item: int
    sentence: int
    span: tuple[int, int]
    text: str
    kinds: tuple[str, ...]
    boxes: NDArray[np.float64]


def boxed_phrases(collection: Collection) -> list[BoxedPhrase]:
    """The phrases of a collection to which `seesay.data.entities.attach` gave boxes, picture after picture."""
    return [phrase for number, item in enumerate(collection.items) for phrase in _phrases_of(number, item)]


def _phrases_of(number: int, item: Item) -> Iterator[BoxedPhrase]:
    boxes: dict[str, list[tuple[float, ...]]] = {}
    for box in item.boxes:
        boxes.setdefault(box.chain, []).append((box.left, box.top, box.right, box.bottom))
    for phrase in item.phrases:
        words = item.sentences[phrase.sentence].split()
        spans = token_spans(words)[phrase.first : phrase.last]
        if phrase.chain in boxes and spans[-1][1] > spans[0][0]:
            text = " ".join(words[phrase.first : phrase.last])
            span = (spans[0][0], spans[-1][1])
            yield BoxedPhrase(number, phrase.sentence, span, text, phrase.kinds, np.array(boxes[phrase.chain]))


@torch.inference_mode()
def phrase_vectors(model: Aligner, collection: Collection, phrases: Sequence[BoxedPhrase], reading: str) -> Tensor:
    """One vector a phrase, within a sentence the sum over its words: (n_phrases, D)."""
    if reading not in READINGS:
        raise SeesayError(f"phrases are read {reading!r}", allowed=READINGS)
    whole = reading == "sentence"
    texts = [collection.items[p.item].sentences[p.sentence] if whole else p.text for p in phrases]
    order = sorted(range(len(texts)), key=lambda place: len(texts[place].split()))
    vectors: list[Tensor] = [torch.empty(0)] * len(texts)
    with without_dropout(model):
        for start in range(0, len(order), 256):
            some = order[start : start + 256]
            read = [texts[place] for place in some]
            if not whole:
                alone = model.encode_phrases(read)
            else:
                spans = [phrases[place].span for place in some]
                states = model.encode_texts(read).states
                alone = torch.stack([states[row, slice(*span)].sum(0) for row, span in enumerate(spans)])
            for vector, place in zip(alone, some, strict=True):
                vectors[place] = vector
    return torch.stack(vectors)
