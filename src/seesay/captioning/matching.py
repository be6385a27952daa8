"""Captions in the order of how well they fit the image, as a matcher judges it.

A captioner says what is usual: of its likeliest sentences, which differ little in probability, the first is often about
another image. A matcher has learned which sentence belongs to which image. The order is that of

    log P(sentence | image) / n^power + weight · cosine(sentence, image)

where n counts the words and the end, and `power` is the captioner's own (`Settings.length_power`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from seesay.captioning.sentences import Caption
from seesay.captioning.settings import Settings
from seesay.catalogue.weights import Trained, tuned_table
from seesay.images.arrays import ImageFeatures
from seesay.runtime.protocol import Answering
from seesay.runtime.witness import Witness
from seesay.system import ranges
from seesay.system.tables import read_table

SECTION = "matching"
"""The table of a captioner's config.json."""


@dataclass(frozen=True)
class Matching:
    """Which matcher orders the captions of weights.

    Attributes:
        matcher: Weights that see what the captioner sees.
        weight: Of a cosine, against the logarithm of a probability.
        candidates: Captions that are put in order.
    """

    matcher: str
    weight: float = field(metadata={"at_least": 0})
    candidates: int = field(default=10, metadata={"at_least": 1, "at_most": ranges.BEAM})


class CaptionJudge:
    """A matcher that orders the captions of a captioner; it looks at nothing that the captioner has not seen.

    Args:
        captioner: Whose captions are ordered.
        matching: By what.

    Raises:
        SeesayError: The matcher sees through another network.
    """

    def __init__(self, captioner: Answering, matching: Matching) -> None:
        self.matching = matching
        self._witness = Witness(matching.matcher, captioner)

    def widen(self, settings: Settings) -> Settings:
        """The settings with a beam that holds the captions it orders; a typed width stays (`Settings.candidates`)."""
        return replace(settings, beam=max(settings.beam, min(self.matching.candidates, settings.candidates)))

    def compare(self, captions: Sequence[Sequence[Caption]], features: ImageFeatures) -> list[list[Caption]]:
        """The captions of images with these features, each with its cosine (`match`), in the same order."""
        vectors = self._witness.see(features)
        sentences = list(dict.fromkeys(caption.text for own in captions for caption in own))
        places = {sentence: place for place, sentence in enumerate(sentences)}
        texts = self._witness.read(sentences)
        return [
            [replace(caption, match=float(texts[places[caption.text]] @ vector)) for caption in own]
            for vector, own in zip(vectors, captions, strict=True)
        ]

    def order(self, captions: Sequence[Sequence[Caption]], power: float) -> list[list[Caption]]:
        """Compared captions, those that fit best first."""
        merits = (score_captions(own, power, self.matching.weight) for own in captions)
        return [
            [own[place] for place in np.argsort(-each, kind="stable")]
            for own, each in zip(captions, merits, strict=True)
        ]


def score_captions(captions: Sequence[Caption], power: float, weight: float) -> NDArray[np.float64]:
    """What captions of an image are ordered by.

    Example:
        >>> likely = Caption("a dog", ("a", "dog"), log_prob=-3.0, finished=True, match=0.2)
        >>> fitting = Caption("a cat", ("a", "cat"), log_prob=-4.0, finished=True, match=0.6)
        >>> score_captions([likely, fitting], power=0.0, weight=5.0).round(2).tolist()
        [-2.0, -1.0]
    """
    return np.array(
        [each.log_prob / (len(each.words) + each.finished) ** power + weight * (each.match or 0) for each in captions]
    )


def judge_of(captioner: Answering) -> CaptionJudge | None:
    """What orders the captions of a captioner, as was chosen for its weights; None where nothing does."""
    matching = matching_of(captioner)
    return CaptionJudge(captioner, matching) if matching else None


def matching_of(captioner: Trained) -> Matching | None:
    """The table `matching` of a captioner's weights."""
    table = tuned_table(captioner.weights, SECTION) if captioner.weights else None
    if not captioner.weights or not table:
        return None
    return read_table(Matching, table, str(captioner.weights.folder / "config.json"), f"{SECTION}.")
