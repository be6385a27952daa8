"""Phrases for the salient regions of an image.

Regions are proposed by selective search; those with long vectors are worth talking about (DVSA supplement, section 1).
They are mostly the telling part of a thing, a face or a wheel. The caption RNN writes a phrase for each, and the
alignment model, which knows nothing of that, says where in the image the phrase fits, and how well: what fits best is
kept, as long as it is about something else than what was kept before.

A model of phrases (HM-LSTM) writes none: it finds, among those that people have written, several that fit a region and
differ from each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seesay.captioning.captions import caption_encoded
from seesay.captioning.sentences import Caption
from seesay.captioning.settings import Settings
from seesay.grounding import phrases as phrase_bank
from seesay.grounding.closer import Closer, heat_of, look_closer
from seesay.grounding.heat import box_overlaps, heat_maps, salient_boxes
from seesay.grounding.phrases import FoundPhrase, PhraseBank
from seesay.grounding.tuned import grounding_of
from seesay.images.arrays import ImageFeatures
from seesay.images.proposals import propose_regions
from seesay.images.regions import Boxes
from seesay.metrics.grounding import box_iou
from seesay.runtime.protocol import Answering
from seesay.system.extras import has
from seesay.text.function_words import name_things
from seesay.text.trees import noun_snippets, parse
from seesay.text.vocabulary import END

SMALLEST = 0.04
"""Of the image: in less than four of its hundred cells the network sees hardly more than a texture."""
LARGEST = 0.7
"""Of the image: what is larger is the image itself."""
CANDIDATES = 24
"""Salient regions that are described before the best are kept."""
LONGEST = 8
"""Words of a phrase."""
GUESSES = 5
"""Phrases that are written for each of them: the likeliest is often the vaguest, "a man"."""
FAINT = 0.4
"""A phrase that fits less than this part of what the best one does is left out."""
SAME = 0.5
"""The IoU from which on two boxes are one, and the share of a box inside another from which on it may be part of it."""


@dataclass(frozen=True, slots=True)
class Described:
    """A region and what was said of it.

    Attributes:
        box: Left, top, right, bottom as fractions of the image.
        caption: The phrase.
        fit: How well the alignment model finds that the phrase fits the region; None where nobody asked it.
    """

    box: tuple[float, float, float, float]
    caption: Caption
    fit: float | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Of the phrase."""
        return self.caption.words


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A region and phrases that people have written of such ones, the best fitting first.

    Attributes:
        box: Left, top, right, bottom as fractions of the image.
        phrases: One or more, no two alike.
    """

    box: tuple[float, float, float, float]
    phrases: tuple[FoundPhrase, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Of the best phrase."""
        return tuple(self.phrases[0].text.split())


Region = TypeVar("Region", Described, Retrieved)


def describe_boxes(describer: Answering, features: ImageFeatures, boxes: Boxes) -> list[Described]:
    """A phrase for each of some regions of one image, whose map is given; a sentence where no phrase was found."""
    captions = _write(describer, features, boxes)
    best = [next(iter(only_phrases(several)), several[0]) for several in captions]
    return [Described(_edges(box), caption) for box, caption in zip(boxes, best, strict=True)]


def describe_image(
    describer: Answering, aligner: Answering, image: Image.Image, *, n: int = 5, regions: str = "search-100"
) -> list[Described]:
    """Phrases for the salient regions of an image, the best fitting first; no two are about the same thing.

    Args:
        describer: What writes the phrases.
        aligner: What says which regions are salient, and which phrases fit.
        image: An opened image.
        n: How many regions at most.
        regions: Which to choose from: `search-N`, or a scheme of `seesay.images.regions.fixed_regions`.
    """
    features, seen, boxes, salient = _find_salient(describer, aligner, image, regions)
    captions = _write(describer, features, salient)
    said = {caption.words: caption for several in captions for caption in several}
    known = [caption for caption in said.values() if all(word in aligner.vocabulary for word in caption.words)]
    phrases = only_phrases(known) or list(said.values())  # of a word that it does not know the aligner is no judge
    closer = look_closer(image, grounding_of(aligner).closer, aligner.features)
    rated = place_phrases(aligner, seen, boxes, phrases, closer)
    rated.sort(key=lambda region: -(region.fit or 0.0))
    return keep_different([region for region in rated if (region.fit or 0.0) >= FAINT * (rated[0].fit or 0.0)], n)


def retrieve_boxes(
    model: Answering, bank: PhraseBank, features: ImageFeatures, boxes: Boxes, n: int = 3
) -> list[Retrieved]:
    """n phrases for each of some regions of one image, whose map is given."""
    found = phrase_bank.describe_boxes(model, bank, features, boxes, n)
    return [Retrieved(_edges(box), tuple(phrases)) for box, phrases in zip(boxes, found, strict=True)]


def retrieve_image(
    model: Answering,
    bank: PhraseBank,
    aligner: Answering,
    image: Image.Image,
    *,
    n: int = 5,
    n_phrases: int = 3,
    regions: str = "search-100",
) -> list[Retrieved]:
    """Phrases for the salient regions of an image, the best fitting first; no two regions are about the same thing.

    Args:
        model: What finds the phrases; all its vectors have the same length, so it cannot tell what is salient.
        bank: The phrases to choose from.
        aligner: What says which regions are salient.
        image: An opened image.
        n: How many regions at most.
        n_phrases: How many phrases for each.
        regions: Which to choose from: `search-N`, or a scheme of `seesay.images.regions.fixed_regions`.
    """
    features, _, _, salient = _find_salient(model, aligner, image, regions)
    found = retrieve_boxes(model, bank, features, salient, n_phrases)
    return keep_different(sorted(found, key=lambda region: -region.phrases[0].score), n)


def _find_salient(
    model: Answering, aligner: Answering, image: Image.Image, regions: str
) -> tuple[ImageFeatures, ImageFeatures, Boxes, Boxes]:
    """The image's features for the model and for the aligner, the regions to choose from, and the salient ones."""
    features = model.features([image])
    seen = features if aligner.feature_spec.name == model.feature_spec.name else aligner.features([image])
    boxes = _propose(image, regions)
    return features, seen, boxes, boxes[salient_boxes(aligner, seen, boxes, CANDIDATES, overlap=0.6)]


def _propose(image: Image.Image, regions: str) -> Boxes:
    """Regions that are neither too small to see anything in nor the image itself, if there are any."""
    boxes = propose_regions(image, regions)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    fitting = boxes[(areas >= SMALLEST) & (areas <= LARGEST)]
    return fitting if len(fitting) else boxes


def place_phrases(
    aligner: Answering,
    features: ImageFeatures,
    boxes: Boxes,
    phrases: Sequence[Caption],
    closer: Closer | None = None,
) -> list[Described]:
    """Where in one image, seen in crops where they are given, phrases fit best, and how well, however long they are."""
    texts = aligner.encode_texts([phrase.text for phrase in phrases])
    is_word = (texts.mask & (texts.words > END))[:, :, None]  # not what stands for a sentence as a whole
    sums = np.where(is_word, texts.states, 0).sum(1)  # (n, D)
    vectors = sums / np.linalg.norm(sums, axis=1, keepdims=True).clip(1e-12)
    heat = heat_of(features, closer, partial(heat_maps, aligner, vectors=vectors))
    best = box_overlaps(heat, boxes, **grounding_of(aligner).rule).argmax(axis=1)
    fits = (vectors * aligner.encode_regions(features, boxes[best])[0]).sum(-1).tolist()
    return [
        Described(_edges(boxes[place]), phrase, fit) for place, phrase, fit in zip(best, phrases, fits, strict=True)
    ]


def keep_different(found: Sequence[Region], n: int) -> list[Region]:
    """The first n that are about something else than those before them.

    Two are about the same where they say the same, where their boxes are nearly the same, and where one lies on the
    other and names the same thing.

    Example:
        >>> def said(text, *box):
        ...     return Described(box, Caption(text, tuple(text.split()), 0.0, True))
        >>> dog, part, ball = said("a dog", 0, 0, 1, 1), said("a brown dog", 0, 0, 0.4, 1), said("a ball", 0, 0, 0.4, 1)
        >>> [region.caption.text for region in keep_different([dog, part, ball], 3)]
        ['a dog', 'a ball']
    """
    kept: list[Region] = []
    for region in found:
        if len(kept) == n:
            break
        if not any(_are_alike(region, other) for other in kept):
            kept.append(region)
    return kept


def _are_alike(one: Region, other: Region) -> bool:
    if one.words == other.words:
        return True
    if box_iou(np.array([one.box]), np.array([other.box])).item() >= SAME:
        return True
    return bool(_named(one) & _named(other)) and _share(one.box, other.box) >= SAME


def _named(region: Described | Retrieved) -> set[str]:
    """What a phrase names, one or many; all people are one, because whoever is called a boy may be called a man."""
    words = list(region.words)
    named = {word for word, names in zip(words, name_things(words), strict=True) if names}
    return {"people" if word in _PEOPLE else word.removesuffix("s") for word in named}


def _share(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    """How much of the smaller box lies in the larger one."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return max(0.0, width) * max(0.0, height) / smaller


def only_phrases(captions: Sequence[Caption]) -> list[Caption]:
    """The captions that are whole and nothing but a noun phrase: they name something without telling what it does.

    Where no parser is installed nobody can tell, and all that are whole are given.

    Example:
        >>> said = ("a dog", "a man in a red shirt", "two dogs play in the grass", "a dog is running", "it")
        >>> [caption.text for caption in only_phrases([Caption(text, tuple(text.split()), 0.0, True) for text in said])]
        ['a dog', 'a man in a red shirt']
    """
    whole = [caption for caption in captions if caption.finished]
    if not has("parse"):
        return whole
    trees = parse([caption.text for caption in whole])
    return [caption for caption, tree in zip(whole, trees, strict=True) if (0, len(tree.words)) in noun_snippets(tree)]


def _write(describer: Answering, features: ImageFeatures, boxes: Boxes) -> list[list[Caption]]:
    if len(features) != 1:
        raise ValueError(f"regions are described in one image, not in {len(features)}")
    settings = Settings.of(describer, max_length=LONGEST)
    return caption_encoded(describer, describer.encode_regions(features, boxes)[0], GUESSES, settings=settings)


def _edges(box: NDArray[np.float32]) -> tuple[float, float, float, float]:
    left, top, right, bottom = (float(edge) for edge in box)
    return left, top, right, bottom


_PEOPLE = frozenset({
    "man", "men", "woman", "women", "boy", "boys", "girl", "girls", "person", "people", "child", "children", "kid",
    "kids", "baby", "babies", "toddler", "lady", "ladies", "guy", "guys", "group", "crowd", "couple", "player",
    "players",
})  # fmt: skip
