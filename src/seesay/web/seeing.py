"""What the models make of one photo: captions, and which part of it the words of a sentence speak of."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seesay.library.library import Library
from seesay.library.stages import Regions
from seesay.library.types import Photo
from seesay.text.function_words import content_words
from seesay.web.photos import open_photo

if TYPE_CHECKING:
    from seesay.captioning.sentences import Caption
    from seesay.images.features import Features
    from seesay.models.base import Captioner, Matcher

N_KEPT = 32
"""Photos whose features are kept for the next question about them."""
N_CANDIDATES = 200
"""Windows of which the one is drawn that a word speaks of most."""
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class SeenWord:
    """A word of a sentence and what of a photo it speaks of.

    Attributes:
        text: As it stands in the sentence.
        content: Whether it says something that could be seen.
        known: Whether the model has learned it.
        probability: That the photo shows it; None where the model is not calibrated.
        heat: (h, w) from 0 to 1; None where there is nothing to show.
        box: The region that it speaks of most.
        place: Where that is, in words.
    """

    text: str
    content: bool
    known: bool = True
    probability: float | None = None
    heat: NDArray[np.float64] | None = None
    box: Box | None = None
    place: str | None = None


class Seer:
    """Answers questions about single photos; models are loaded with the first of them. One thread at a time gets in.

    Args:
        library: Whose model explains, so that it explains what the search has found.
        captioner: Weights that write captions, by name or folder; by default what is installed.
    """

    def __init__(self, library: Library, captioner: str | Path | None = None) -> None:
        self.library = library
        self._wanted = captioner
        self._features: OrderedDict[tuple[int, str], Features] = OrderedDict()
        self._lock = RLock()

    @property
    def model(self) -> "Matcher":
        """The library's own, which says how likely a word is."""
        return self.library.encoder.matcher

    @property
    def pointer(self) -> "Matcher":
        """What says where: a later stage that sees regions, else the library's own model."""
        stages = (stage for stage in self.library.stages if isinstance(stage, Regions))
        return next((stage.matcher for stage in stages), self.model)

    @cached_property
    def captioner(self) -> "Captioner | None":
        """What writes captions; None where nothing that can is installed."""
        from seesay.captioning.captions import DEFAULT
        from seesay.models.pretrained import installed, load_captioner

        if self._wanted is not None:
            return load_captioner(self._wanted)
        return load_captioner(DEFAULT) if any(weights.name == DEFAULT for weights in installed()) else None

    def prepare(self) -> None:
        """Load what the first question would have to wait for."""
        from seesay.images.regions import windows

        with self._lock:
            _ = self.pointer, self.model, self.captioner
        windows(N_CANDIDATES)

    def captions(self, photo: Photo, n: int) -> "tuple[str | None, list[Caption]]":
        """Sentences about a photo, the best first, and the weights that wrote them; None and none without any."""
        with self._lock:
            if self.captioner is None:
                return None, []
            from seesay.captioning.captions import caption_images

            (captions,) = caption_images(self.captioner, self._see(photo, self.captioner), n_best=n)
            return self.captioner.weights.name if self.captioner.weights else None, captions

    def explain(self, photo: Photo, sentence: str) -> list[SeenWord]:
        """The words of a sentence in order, each with what of the photo it speaks of.

        Raises:
            SeesayError: The library's model cannot say.
        """
        from seesay.explainers.regions import as_heat, place_in_words, word_maps
        from seesay.grounding.heat import box_overlaps
        from seesay.images.regions import windows

        words = [_understand(text, self.library) for text in sentence.split()]
        asked = [word.text for word in words if word.content and word.known]
        if not asked:
            return words
        with self._lock:
            maps = word_maps(self.pointer, self._see(photo, self.pointer), asked)  # (n, h, w)
            probabilities = self._probabilities(self._see(photo, self.model), asked)
        boxes = windows(N_CANDIDATES)
        best = box_overlaps(maps, boxes).argmax(axis=1)
        seen = iter(zip(probabilities, as_heat(maps), boxes[best].tolist(), strict=True))
        for row, word in enumerate(words):
            if word.content and word.known:
                probability, heat, box = next(seen)
                words[row] = replace(
                    word, probability=probability, heat=heat, box=tuple(box), place=place_in_words(box)
                )
        return words

    def _probabilities(self, features: "Features", words: list[str]) -> list[float | None]:
        """That the photo as a whole shows each word."""
        import torch

        calibration = self.library.encoder.calibration
        if calibration is None:
            return [None] * len(words)
        with torch.inference_mode():
            cosines = self.model.score(self.model.encode_images(features), self.model.encode_texts(words))[0]
        return [float(p) for p in calibration.probability(cosines.double().numpy(), 1)]

    def _see(self, photo: Photo, model: "Matcher") -> "Features":
        """A photo's features, computed once for all models that look at it the same way."""
        key = photo.content, model.feature_spec.name
        if key not in self._features:
            self._features[key] = model.features([open_photo(photo, at_least=model.feature_spec.pixels)])
            if len(self._features) > N_KEPT:
                self._features.popitem(last=False)
        self._features.move_to_end(key)
        return self._features[key]


def _understand(text: str, library: Library) -> SeenWord:
    content = bool(content_words(text))
    counts = library.encoder.count_words(text) if content else {}
    return SeenWord(text, content, known=not content or any(counts.values()))
