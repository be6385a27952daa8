"""From photos and sentences to vectors, with trained weights; torch is loaded when the first photo needs it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.ranking.calibration import Calibration, content_words
from seesay.library.types import Fingerprint, Tags, Vector
from seesay.models import weights
from seesay.models.tuning import tuned_table, weights_digest
from seesay.settings.tags import TagSettings

if TYPE_CHECKING:
    from PIL import Image

    from seesay.images.backbones import Backbone
    from seesay.images.features import Features
    from seesay.models.base import Matcher

N_TAGS = 10
_LEAST_PROBABLE = 0.01  # of a tag


class Encoder(Protocol):
    """What indexing and search need of a model."""

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
    def pixels(self) -> int:
        """The shorter side below which photos must not be decoded."""

    def at_work(self) -> AbstractContextManager[Callable[[], None]]:
        """Ready to encode photos in threads, each of which first calls what this gives."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> tuple[Vector, list[Tags]]:
        """Unit vectors (n, D) of opened photos, and their tags."""

    def encode_text(self, text: str) -> Vector:
        """The unit vector (D,) of a sentence."""

    @property
    def matcher(self) -> "Matcher":
        """The model itself, for what needs more than vectors."""

    def count_words(self, text: str) -> dict[str, int]:
        """The content words of a sentence, with how often the model has seen each in training."""


class WeightsEncoder:
    """Trained weights by name or folder."""

    def __init__(self, name: str | Path) -> None:
        self.name = str(name)
        found = weights.find(name)
        self.folder, self.about = found.folder.resolve(), found.about
        self.weights = weights.Weights(self.folder, self.about)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        features = self.about["features"]
        spec = "-".join(str(features.get(key, "")) for key in ("backbone", "size", "crop"))
        packaged = self.folder.parent == weights.PACKAGED.resolve()
        return Fingerprint(
            model=self.folder.name if packaged else str(self.folder),
            weights=self._digest(),
            features=f"{spec}-{str(features.get('digest', ''))[:12]}",
            dim=int(self.about["config"].get("dim", 0)),
        )

    def _digest(self) -> str:
        return weights_digest(self.folder)[:16]

    @cached_property
    def calibration(self) -> Calibration | None:
        found = tuned_table(self.weights, "calibration")
        return Calibration.from_table(found, str(self.folder / "config.json")) if found else None

    @cached_property
    def tag_settings(self) -> TagSettings:
        found = tuned_table(self.weights, "tags")
        return TagSettings.from_table(found or {}, str(self.folder / "config.json"))

    @cached_property
    def vocabulary(self) -> Any:
        """The words that the model has learned."""
        from seesay.text.vocabulary import Vocabulary

        path = self.folder / "vocabulary.json"
        try:
            return Vocabulary.from_json(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise SeesayError(f"cannot read {path}: {error}") from error

    @cached_property
    def _sentences(self) -> Any:
        from seesay.library.ranking.sentences import SentenceEncoder

        return SentenceEncoder(self.folder, self.about, self.vocabulary) if SentenceEncoder.knows(self.about) else None

    def encode_text(self, text: str) -> Vector:
        if self._sentences is not None:
            return np.asarray(self._sentences(text))
        import torch

        with torch.inference_mode():
            found = self.matcher.encode_texts([text])
        if not isinstance(found, torch.Tensor) or found.ndim != 2:
            raise self._no_single_vector()
        return np.asarray(found[0].numpy(), np.float32)

    def count_words(self, text: str) -> dict[str, int]:
        vocabulary = self.vocabulary
        rows = {word: vocabulary.encode([word])[0] for word in content_words(text)}
        return {word: vocabulary.counts[row] if word in vocabulary else 0 for word, row in rows.items()}

    @cached_property
    def matcher(self) -> "Matcher":
        """The model itself, for what needs more than vectors."""
        from seesay.models.pretrained import load

        return load(self.folder)

    @cached_property
    def _backbone(self) -> "Backbone":
        return self.matcher.feature_spec.load_backbone()

    @property
    def pixels(self) -> int:
        return self.matcher.feature_spec.pixels

    @contextmanager
    def at_work(self) -> Iterator[Callable[[], None]]:
        import torch

        _ = self._backbone  # loaded here and not by several threads at once
        threads_before = torch.get_num_threads()
        try:
            yield lambda: torch.set_num_threads(1)
        finally:
            torch.set_num_threads(threads_before)

    def encode_photos(self, images: "Sequence[Image.Image]") -> tuple[Vector, list[Tags]]:
        return self.encode_features(self.features_of(images))

    def encode_features(self, features: "Features") -> tuple[Vector, list[Tags]]:
        """Unit vectors (n, D) of photos that the network has seen, and their tags."""
        import torch

        with torch.inference_mode():
            vectors = self.matcher.encode_images(features)
            if vectors.ndim != 2:
                raise self._no_single_vector()
            tags: list[Tags] = [() for _ in range(len(features))]
            if self._backbone.classifier is not None:
                probabilities = self._backbone.classifier(features.pooled).softmax(1)  # (n, 1000)
                tags = [likeliest_tags(row) for row in probabilities.numpy()]
        return np.asarray(vectors.numpy(), np.float32), tags

    def features_of(self, images: "Sequence[Image.Image]") -> "Features":
        """What the model wants to know of opened photos."""
        from seesay.images.features import OUTPUTS, Features, compute

        outputs = self.matcher.outputs
        schemes = [output for output in outputs if output not in OUTPUTS]
        rows = compute(images, self._backbone, self.matcher.feature_spec.crop, schemes)
        return Features.of({output: rows[output] for output in outputs})

    def _no_single_vector(self) -> SeesayError:
        return SeesayError(
            f"{self.name} does not keep a picture as one vector, which a library needs", hint="seesay models"
        )


def likeliest_tags(probabilities: NDArray[np.float32]) -> Tags:
    """The tags that are kept of a classifier's probabilities.

    Example:
        >>> [(number, round(p, 2)) for number, p in likeliest_tags(np.array([0.005, 0.25, 0.7, 0.04], np.float32))]
        [(2, 0.7), (1, 0.25), (3, 0.04)]
    """
    best = np.argsort(-probabilities)[:N_TAGS]
    return tuple((int(number), float(p)) for number in best if (p := probabilities[number]) >= _LEAST_PROBABLE)
