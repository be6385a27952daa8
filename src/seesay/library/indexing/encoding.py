"""From photos to what the library keeps of them, with trained weights: what indexing needs of the models.

The image network is opened when the first photo needs it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay.catalogue.weights import UPPER, weights_digest
from seesay.errors import SeesayError
from seesay.library.ranking.encoding import no_single_vector
from seesay.library.types import Fingerprint, Tags, Vector
from seesay.library.weights import INT8, LibraryWeights
from seesay.library.zero_shot import read_class_tags, tag_probabilities

if TYPE_CHECKING:
    from PIL import Image

    from seesay.images.arrays import ImageFeatures
    from seesay.runtime.network import Network

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
    def _network(self) -> "Network":
        whole = self.model.network
        if self.precision != INT8:
            return whole
        from seesay.runtime.exact import is_exact

        rounded = whole.in_precision(INT8)
        if rounded is None:
            raise SeesayError(f"the network of {self.name} is not installed in 8 bits", hint="--precision float")
        if not is_exact():
            raise SeesayError(
                "this processor does not compute in 8 bits exactly, as the library's photos were encoded",
                hint="seesay library rebuild --precision float",
            )
        return rounded

    @property
    def pixels(self) -> int:
        return self._network.pixels

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which features the model reads."""
        return self.model.outputs

    @contextmanager
    def inference_session(self) -> Iterator[Callable[[], None]]:
        from seesay.runtime.network import release_graphs

        whole = self._network
        # Threads that each decode and compute a few photos keep all cores busy; more threads below them would wait.
        self._network = whole.with_threads(1)
        try:
            _ = self._network.session  # opened here and not by several threads at once
            yield lambda: None
        finally:
            self._network = whole
            release_graphs()

    def features_of(
        self, images: "Sequence[Image.Image]", models: "Sequence[WeightsPhotoModel]" = ()
    ) -> "ImageFeatures":
        """The features of opened photos that this model looks at, or several that look through the same network."""
        several = models or (self,)
        schemes = {scheme: None for model in several for scheme in model.model.schemes}
        return self._network.features(images, tuple(schemes), maps=any("map" in model.outputs for model in several))

    def sees_through(self, eye: LibraryWeights) -> bool:
        """Whether its network has the upper half of these weights, beside the one that they look through."""
        about = self._network.about
        return bool(about.get("both")) and about.get("digest") == weights_digest(eye.folder, UPPER)


class WeightsPhotoEncoder(WeightsPhotoModel):
    """Encodes photos as one vector each, with tags."""

    @cached_property
    def _class_tags(self) -> "Vector | None":
        return read_class_tags(self.folder, self.fingerprint.dim)

    def encode_photos(self, images: "Sequence[Image.Image]") -> tuple[Vector, list[Tags]]:
        return self.encode_features(self.features_of(images))

    def encode_features(self, features: "ImageFeatures") -> tuple[Vector, list[Tags]]:
        """Unit vectors (n, D) of photos whose features are given, and their tags."""
        return self._with_tags(self.model.encode_images(features), features)

    def encode_seen(self, features: "ImageFeatures") -> tuple[Vector, list[Tags]]:
        """The same, from the features of a network that has the upper half of these weights."""
        return self._with_tags(self.model.encode_pooled(features.pooled.astype(np.float32)), features)

    def _with_tags(self, vectors: Vector, features: "ImageFeatures") -> tuple[Vector, list[Tags]]:
        if vectors.ndim != 2:
            raise no_single_vector(self.name)
        if features.classes is None:
            if self._class_tags is None:
                return vectors, [() for _ in range(len(features))]
            shares = tag_probabilities(vectors, self._class_tags, self.model.temperature)
            return vectors, [likeliest_tags(row) for row in shares]
        return vectors, [likeliest_tags(row) for row in _softmax(features.classes)]


class WeightsViewEncoder(WeightsPhotoModel):
    """Encodes photos as a later stage of search keeps them."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> Views:
        return self.encode_features(self.features_of(images))

    def encode_features(self, features: "ImageFeatures") -> Views:
        """The views of photos whose features are given, (n, N, D)."""
        return self.model.view(features).astype(np.float16)


def encode_all(
    first: PhotoEncoder, later: Sequence[ViewEncoder], images: "Sequence[Image.Image]"
) -> tuple[Vector, list[Tags], dict[str, Views]]:
    """What all stages keep of opened photos; weights that can use the same features have them computed once."""
    views = [stage for stage in later if isinstance(stage, WeightsViewEncoder)]
    if isinstance(first, WeightsPhotoEncoder) and len(views) == len(later):
        models: list[WeightsPhotoModel] = [first, *views]
        schemes = {scheme for model in models for scheme in model.model.schemes}
        read = {model.fingerprint.features for model in views}
        through = bool(views) and views[0].sees_through(first)
        if len(schemes) <= 1 and len(read) <= 1 and (through or read <= {first.fingerprint.features}):
            features = (views[0] if through else first).features_of(images, models)
            kept = {stage.stage: each.encode_features(features) for stage, each in zip(later, views, strict=True)}
            return *(first.encode_seen if through else first.encode_features)(features), kept
    return *first.encode_photos(images), {stage.stage: stage.encode_photos(images) for stage in later}


def likeliest_tags(probabilities: NDArray[np.float32]) -> Tags:
    """The tags that are kept of a classifier's probabilities.

    Example:
        >>> [(number, round(p, 2)) for number, p in likeliest_tags(np.array([0.005, 0.25, 0.7, 0.04], np.float32))]
        [(2, 0.7), (1, 0.25), (3, 0.04)]
    """
    best = np.argsort(-probabilities)[:N_TAGS]
    return tuple((int(number), float(p)) for number in best if (p := probabilities[number]) >= _LEAST_PROBABLE)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    exponents = np.exp(logits - logits.max(1, keepdims=True))
    shares: NDArray[np.float32] = exponents / exponents.sum(1, keepdims=True)
    return shares
