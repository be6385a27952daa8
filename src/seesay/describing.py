"""What is in the regions of a picture: a phrase for each that people would talk about.

Regions are proposed by selective search; those with long vectors are worth talking about (DVSA supplement, section 1).
The caption RNN writes a phrase for each, and the alignment model, which knows nothing of that, says how well the phrase
fits its region: what fits best is kept, as long as it is about something else than what was kept before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from seesay.alignment import salient_boxes
from seesay.captioning import Caption, Settings, caption_images
from seesay.images.features import Features
from seesay.images.proposals import propose_regions
from seesay.images.regions import Boxes
from seesay.models.aligner import Aligner
from seesay.models.dvsa_captions import DVSACaptions, cut_regions
from seesay.text.function_words import name_things
from seesay.text.vocabulary import END

SMALLEST = 0.04
"""Of the picture: in less than four of its hundred cells the network sees hardly more than a texture."""
LARGEST = 0.7
"""Of the picture: what is larger is the picture itself."""
CANDIDATES = 24
"""Salient regions that are described before the best are kept."""
SAME = 0.5
"""The share of the smaller of two boxes inside the other from which on they may show the same thing."""


@dataclass(frozen=True, slots=True)
class Described:
    """A region and what was said of it.

    Attributes:
        box: Left, top, right, bottom as fractions of the picture.
        caption: The phrase.
        fit: How well the alignment model finds that the phrase fits the region; None where nobody asked it.
    """

    box: tuple[float, float, float, float]
    caption: Caption
    fit: float | None = None


def describe_boxes(describer: DVSACaptions, features: Features, boxes: Boxes) -> list[Described]:
    """A phrase for each of some regions of one picture, whose map is given."""
    captions = caption_images(describer, cut_regions(features, boxes), settings=_settings(describer))
    return [Described(_edges(box), several[0]) for box, several in zip(boxes, captions, strict=True)]


def describe_picture(
    describer: DVSACaptions, aligner: Aligner, picture: Image.Image, *, n: int = 5, regions: str = "search-100"
) -> list[Described]:
    """Phrases for the salient regions of a picture, the best fitting first; no two are about the same thing.

    Args:
        describer: What writes the phrases.
        aligner: What says which regions are salient, and which phrases fit.
        picture: An opened picture.
        n: How many regions at most.
        regions: Which to choose from: `search-N`, or a scheme of `seesay.images.regions.fixed_regions`.
    """
    features = describer.features([picture])
    seen = features if aligner.feature_spec == describer.feature_spec else aligner.features([picture])
    boxes = propose_regions(picture, regions)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    fitting = boxes[(areas >= SMALLEST) & (areas <= LARGEST)]
    boxes = fitting if len(fitting) else boxes
    boxes = boxes[salient_boxes(aligner, seen, boxes, CANDIDATES, overlap=0.6)]
    found = describe_boxes(describer, features, boxes)
    fits = fit_phrases(aligner, seen, boxes, [region.caption.text for region in found])
    rated = [Described(region.box, region.caption, float(fit)) for region, fit in zip(found, fits, strict=True)]
    return keep_different(sorted(rated, key=lambda region: -(region.fit or 0.0)), n)


@torch.inference_mode()
def fit_phrases(aligner: Aligner, features: Features, boxes: Boxes, phrases: Sequence[str]) -> NDArray[np.float32]:
    """How well phrase i fits region i of one picture, however long the phrase is: (n,)."""
    texts = aligner.encode_texts(list(phrases))
    is_word = (texts.mask & (texts.words > END)).unsqueeze(-1)  # not what stands for a sentence as a whole
    vectors = torch.nn.functional.normalize((texts.states * is_word).sum(1), dim=-1)  # (n, D)
    fits: NDArray[np.float32] = (vectors * aligner.encode_regions(features, boxes)[0]).sum(-1).numpy()
    return fits


def keep_different(found: Sequence[Described], n: int) -> list[Described]:
    """The first n that are about something else than those before them.

    Two are about the same where they say the same, or where they lie on each other and name the same thing.

    Example:
        >>> def said(text, *box):
        ...     return Described(box, Caption(text, tuple(text.split()), 0.0, True))
        >>> dog, same, other = said("a dog", 0, 0, 1, 1), said("a brown dog", 0, 0, 0.5, 1), said("a ball", 0, 0, 1, 1)
        >>> [region.caption.text for region in keep_different([dog, same, other], 3)]
        ['a dog', 'a ball']
    """
    kept: list[Described] = []
    for region in found:
        if len(kept) == n:
            break
        if not any(_are_alike(region, other) for other in kept):
            kept.append(region)
    return kept


def _are_alike(one: Described, other: Described) -> bool:
    if one.caption.words == other.caption.words:
        return True
    return bool(_named(one) & _named(other)) and _share(one.box, other.box) >= SAME


def _named(region: Described) -> set[str]:
    words = list(region.caption.words)
    return {word for word, names in zip(words, name_things(words), strict=True) if names}


def _share(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    """How much of the smaller box lies in the larger one."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return max(0.0, width) * max(0.0, height) / smaller


def _settings(describer: DVSACaptions) -> Settings:
    return Settings.of(describer, max_length=12)


def _edges(box: NDArray[np.float32]) -> tuple[float, float, float, float]:
    left, top, right, bottom = (float(edge) for edge in box)
    return left, top, right, bottom
