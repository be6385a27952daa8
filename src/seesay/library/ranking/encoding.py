"""From sentences to vectors, with trained weights: what search needs of the model of the first stage."""

from functools import cached_property
from typing import Protocol

import numpy as np

from seesay.errors import SeesayError
from seesay.library.ranking.calibration import Calibration
from seesay.library.types import Fingerprint, Vector
from seesay.library.weights import LibraryWeights
from seesay.settings.tags import TagSettings
from seesay.text.function_words import content_words
from seesay.text.typed.spelling import Words


class QueryEncoder(Protocol):
    """What search needs of a model."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What its vectors depend on."""

    @property
    def calibration(self) -> Calibration | None:
        """How a cosine becomes a probability, where that has been measured."""

    @property
    def tag_settings(self) -> TagSettings:
        """How much tags count for words that the model has hardly seen."""

    @property
    def words(self) -> Words:
        """The words that it has learned."""

    def encode_text(self, text: str) -> Vector:
        """The unit vector (D,) of a sentence."""

    def count_words(self, text: str) -> dict[str, int]:
        """The content words of a sentence, with how often the model has seen each in training."""


class WeightsQueryEncoder(LibraryWeights):
    """Encodes queries with trained weights."""

    @cached_property
    def calibration(self) -> Calibration | None:
        found = self.tuned("calibration")
        return Calibration.from_table(found, self.config_file) if found else None

    @cached_property
    def tag_settings(self) -> TagSettings:
        return TagSettings.from_table(self.tuned("tags") or {}, self.config_file)

    @property
    def words(self) -> Words:
        words: Words = self.vocabulary
        return words

    def encode_text(self, text: str) -> Vector:
        found = self.model.encode_texts([text])
        if not isinstance(found, np.ndarray) or found.ndim != 2:
            raise no_single_vector(self.name)
        return np.asarray(found[0], np.float32)

    def count_words(self, text: str) -> dict[str, int]:
        return {word: self.vocabulary.count(word) for word in content_words(text)}


def no_single_vector(name: str) -> SeesayError:
    """The error of weights that cannot be a first stage."""
    return SeesayError(f"{name} does not keep a photo as one vector, which a library needs", hint="seesay models")
