"""Phrases that refer to something with a box, and their vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seesay.data import Collection, Item
from seesay.errors import SeesayError
from seesay.runtime.protocol import Answering
from seesay.text.tokens import token_spans

READINGS = ("phrase", "sentence")


@dataclass(frozen=True)
class BoxedPhrase:
    """A phrase that refers to something with a box.

    Attributes:
        item: Which image of the collection.
        sentence: Which sentence of the image.
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
    """The phrases of a collection to which `seesay.data.entities.attach` gave boxes, image after image."""
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


def phrase_vectors(
    model: Answering, collection: Collection, phrases: Sequence[BoxedPhrase], reading: str
) -> NDArray[np.float32]:
    """One vector a phrase, within a sentence the sum over its words: (n_phrases, D)."""
    if reading not in READINGS:
        raise SeesayError(f"phrases are read {reading!r}", allowed=READINGS)
    whole = reading == "sentence"
    texts = [collection.items[p.item].sentences[p.sentence] if whole else p.text for p in phrases]
    order = sorted(range(len(texts)), key=lambda place: len(texts[place].split()))
    found = []
    for start in range(0, len(order), 256):
        some = order[start : start + 256]
        read = [texts[place] for place in some]
        if not whole:
            found.append(model.encode_phrases(read))
        else:
            states = model.encode_texts(read).states
            found.append(np.stack([states[row, slice(*phrases[at].span)].sum(0) for row, at in enumerate(some)]))
    vectors: NDArray[np.float32] = np.concatenate(found)[np.argsort(order)]
    return vectors
