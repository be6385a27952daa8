"""From photos to what the library keeps of them, with trained weights: what indexing needs of the models.

Torch is loaded when the first photo needs it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay.library.ranking.encoding import no_single_vector
from seesay.library.types import Fingerprint, Tags, Vector
from seesay.library.weights import LibraryWeights

if TYPE_CHECKING:
    from PIL import Image

    from seesay.images.backbones import Backbone
    from seesay.images.features import Features

N_TAGS = 10
_LEAST_PROBABLE = 0.01  # of a tag
Views = NDArray[np.float16]


class PhotoModel(Protocol):
    """What indexing needs of any model."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What it gives depends on this."""

    @property
    def pixels(self) -> int:
        """The shorter side below which photos must not be decoded."""

    def inference_session(self) -> AbstractContextManager[Callable[[], None]]:
        """Ready to encode photos in threads, each of which first calls what this gives."""


class PhotoEncoder(PhotoModel, Protocol):
    """What indexing needs of the first stage."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> tuple[Vector, list[Tags]]:
        """Unit vectors (n, D) of opened photos, and their tags."""


class ViewEncoder(PhotoModel, Protocol):
    """What indexing needs of a later stage."""

    @property
    def stage(self) -> str:
        """Under which name the library keeps its views."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> Views:
        """The views of opened photos, (n, N, D)."""


class WeightsPhotoModel(LibraryWeights):
    """Trained weights that are shown photos."""

    @cached_property
    def _backbone(self) -> "Backbone":
        return self.matcher.feature_spec.load_backbone()

    @property
    def pixels(self) -> int:
        return self.matcher.feature_spec.pixels

    @contextmanager
    def inference_session(self) -> Iterator[Callable[[], None]]:
        import torch

        _ = self._backbone  # loaded here and not by several threads at once
        threads_before = torch.get_num_threads()
        try:
            yield lambda: torch.set_num_threads(1)
        finally:
            torch.set_num_threads(threads_before)

    def features_of(self, images: "Sequence[Image.Image]") -> "Features":
        """The features of opened photos that the model reads."""
        from seesay.images.features import OUTPUTS, Features, compute

        outputs = self.matcher.outputs
        schemes = [output for output in outputs if output not in OUTPUTS]
        rows = compute(images, self._backbone, self.matcher.feature_spec.crop, schemes)
        return Features.of({output: rows[output] for output in outputs})


class WeightsPhotoEncoder(WeightsPhotoModel):
    """Encodes photos as one vector each, with tags."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> tuple[Vector, list[Tags]]:
        return self.encode_features(self.features_of(images))

    def encode_features(self, features: "Features") -> tuple[Vector, list[Tags]]:
        """Unit vectors (n, D) of photos whose features are given, and their tags."""
        import torch

        with torch.inference_mode():
            vectors = self.matcher.encode_images(features)
            if vectors.ndim != 2:
                raise no_single_vector(self.name)
            tags: list[Tags] = [() for _ in range(len(features))]
            if self._backbone.classifier is not None:
                probabilities = self._backbone.classifier(features.pooled).softmax(1)  # (n, 1000)
                tags = [likeliest_tags(row) for row in probabilities.numpy()]
        return np.asarray(vectors.numpy(), np.float32), tags


class WeightsViewEncoder(WeightsPhotoModel):
    """Encodes photos as a later stage of search keeps them."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> Views:
        return self.encode_features(self.features_of(images))

    def encode_features(self, features: "Features") -> Views:
        """The views of photos whose features are given, (n, N, D)."""
        import torch

        with torch.inference_mode():
            return np.asarray(self.matcher.view(features).numpy(), np.float16)


def encode_all(
    first: PhotoEncoder, later: Sequence[ViewEncoder], images: "Sequence[Image.Image]"
) -> tuple[Vector, list[Tags], dict[str, Views]]:
    """What all stages keep of opened photos; weights that read the same features have them computed once."""
    views = [stage for stage in later if isinstance(stage, WeightsViewEncoder)]
    if isinstance(first, WeightsPhotoEncoder) and len(views) == len(later):
        models: list[WeightsPhotoModel] = [first, *views]
        widest = max(models, key=lambda model: len(model.matcher.outputs))
        same = all(model.fingerprint.features == first.fingerprint.features for model in models)
        if same and all(set(model.matcher.outputs) <= set(widest.matcher.outputs) for model in models):
            features = widest.features_of(images)
            kept = {stage.stage: each.encode_features(features) for stage, each in zip(later, views, strict=True)}
            return *first.encode_features(features), kept
    return *first.encode_photos(images), {stage.stage: stage.encode_photos(images) for stage in later}


def likeliest_tags(probabilities: NDArray[np.float32]) -> Tags:
    """The tags that are kept of a classifier's probabilities.

    Example:
        >>> [(number, round(p, 2)) for number, p in likeliest_tags(np.array([0.005, 0.25, 0.7, 0.04], np.float32))]
        [(2, 0.7), (1, 0.25), (3, 0.04)]
    """
    best = np.argsort(-probabilities)[:N_TAGS]
    return tuple((int(number), float(p)) for number in best if (p := probabilities[number]) >= _LEAST_PROBABLE)
