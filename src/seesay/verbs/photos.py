"""Answers about single photos of a library: captions, and the region that each word of a sentence refers to."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seesay.images.io import open_image
from seesay.library.library import Library
from seesay.library.ranking.likeness import read_photo
from seesay.library.stages import Regions
from seesay.library.types import Photo
from seesay.text.function_words import content_words
from seesay.text.typed.known_words import read_words
from seesay.verbs.loading import answering_model
from seesay.verbs.results import Box

if TYPE_CHECKING:
    from seesay.captioning.sentences import Caption
    from seesay.explainers.explanation import Explanation
    from seesay.explainers.registry import Explainer
    from seesay.images.arrays import ImageFeatures
    from seesay.runtime.protocol import Answering

N_KEPT = 32
"""Photos whose features are kept for the next question about them."""


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """A word of a sentence and the evidence for it in a photo.

    Attributes:
        text: As it stands in the sentence.
        content: Whether it names something that can be seen.
        known: Whether the model has learned it.
        probability: That the photo shows it; None where the model is not calibrated.
        heat: (h, w) from 0 to 1; None where there is nothing to show.
        box: The region that it refers to.
        place: Where the box is, in words.
    """

    text: str
    content: bool
    known: bool = True
    probability: float | None = None
    heat: NDArray[np.float64] | None = None
    box: Box | None = None
    place: str | None = None


class PhotoModels:
    """The models that answer questions about single photos, loaded with the first one. One thread at a time gets in.

    Args:
        library: Whose models explain, so that they explain what the search has found.
        captioner: Weights that write captions, by name or folder; by default what is installed.
    """

    def __init__(self, library: Library, captioner: str | Path | None = None) -> None:
        self.library = library
        self._wanted = captioner
        self._features: OrderedDict[tuple[int, str], ImageFeatures] = OrderedDict()
        self._lock = RLock()

    @cached_property
    def model(self) -> "Answering":
        """The library's own, which gives the probability of a word."""
        return self.library.encoder.model

    @cached_property
    def explained(self) -> "Answering":
        """The model whose match is explained: a later stage that scores regions, else the library's own.

        Where that keeps a photo as a whole and explains nothing, installed weights that score regions do.
        """
        stages = (stage.folder for stage in self.library.stages if isinstance(stage, Regions))
        if (folder := next(stages, None)) is not None:
            return answering_model(folder)
        if self.model.explainers:
            return self.model
        from seesay.catalogue.weights import installed

        graphs = ((weights.folder, weights.about.get("graphs", {})) for weights in installed())
        able = (folder for folder, table in graphs if table.get("explainers") and "phrases" in table["files"])
        return next((answering_model(folder) for folder in able), self.model)

    @cached_property
    def captioner(self) -> "Answering | None":
        """What writes captions; None where nothing that can is installed."""
        from seesay.captioning.captions import DEFAULT
        from seesay.catalogue.weights import installed

        if self._wanted is None and all(weights.name != DEFAULT for weights in installed()):
            return None
        lack = "matches images and sentences and writes no captions"
        return answering_model(self._wanted or DEFAULT, "step", lack)

    def prepare(self) -> None:
        """Load what the first question would have to wait for."""
        from seesay.explainers.registry import choose_explainer

        with self._lock:
            explainer, _ = choose_explainer(self.explained), (self.model, self.captioner)
        explainer.prepare()

    def captions(self, photo: Photo, n: int) -> "tuple[str | None, list[Caption]]":
        """Sentences about a photo, the best first, and the weights that wrote them; None and none without any."""
        with self._lock:
            if self.captioner is None:
                return None, []
            from seesay.captioning.captions import caption_images
            from seesay.captioning.matching import judge_of
            from seesay.captioning.sentences import judge
            from seesay.catalogue.weights import doubt_of

            seen = self._see(photo, self.captioner)
            (captions,) = caption_images(self.captioner, seen, n_best=n, judge=judge_of(self.captioner))
            doubt = doubt_of(self.captioner.weights, "confidence")
            return self.captioner.name, [judge(caption, doubt) for caption in captions]

    def explain(self, photo: Photo, sentence: str) -> list[WordEvidence]:
        """The words of a sentence in order, each with the evidence for it in the photo.

        Raises:
            SeesayError: No installed explainer explains the library's model.
        """
        from seesay.explainers.registry import choose_explainer

        reading = read_words(sentence, self.library.encoder.words)
        words = [_understand(text, self.library) for text in reading.text.split()]
        asked = [word.text for word in words if word.content and word.known]
        if not asked:
            return words
        with self._lock:
            explainer = choose_explainer(self.explained)
            found = self._explain(photo, explainer, " ".join(asked))
            probabilities = self._probabilities(self._see(photo, self.model), asked)
        evidence = _evidence(found, probabilities)
        return [next(evidence) if word.content and word.known else word for word in words]

    def _explain(self, photo: Photo, explainer: "Explainer", sentence: str) -> "Explanation":
        """An explanation by features that are kept, where the explainer needs no more than the model's own."""
        from seesay.explainers.explaining import seen_by
        from seesay.explainers.explanation import place_in_image

        if explainer.needs_image:
            seen = explainer.see(self.explained, open_image(read_photo(photo)))
            return explainer.explain(self.explained, seen, sentence)
        features = self._see(photo, self.explained)
        found = explainer.explain(self.explained, features, sentence)
        return place_in_image(found, seen_by(self.explained, (photo.width, photo.height)))

    def _probabilities(self, features: "ImageFeatures", words: list[str]) -> list[float | None]:
        """That the photo as a whole shows each word."""
        calibration = self.library.encoder.calibration
        if calibration is None:
            return [None] * len(words)
        cosines = self.model.score(self.model.encode_images(features), self.model.encode_texts(words))[0]
        counts = [max(self.library.encoder.count_words(word).values(), default=0) for word in words]
        return [float(p) for p in calibration.probability(cosines.astype(np.float64), 1, counts)]

    def _see(self, photo: Photo, model: "Answering") -> "ImageFeatures":
        """A photo's features, computed once for all models that look at it the same way."""
        key = photo.content, model.feature_spec.name
        if key not in self._features:
            self._features[key] = model.features([open_image(read_photo(photo), at_least=model.feature_spec.pixels)])
            if len(self._features) > N_KEPT:
                self._features.popitem(last=False)
        self._features.move_to_end(key)
        return self._features[key]


def _evidence(found: "Explanation", probabilities: Sequence[float | None]) -> Iterator[WordEvidence]:
    """What an explanation has found for each word; without word maps, nothing that could be shown."""
    from seesay.grounding.places import place_in_words

    heats, boxes = found.word_heat, found.boxes
    for row, (text, probability) in enumerate(zip(found.words, probabilities, strict=True)):
        yield WordEvidence(
            text,
            True,
            probability=probability,
            heat=None if heats is None else heats[row],
            box=None if boxes is None else tuple(boxes[row].tolist()),
            place=None if boxes is None else place_in_words(boxes[row].tolist()),
        )


def _understand(text: str, library: Library) -> WordEvidence:
    content = bool(content_words(text))
    counts = library.encoder.count_words(text) if content else {}
    return WordEvidence(text, content, known=not content or any(counts.values()))
