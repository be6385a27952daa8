"""The second stage of search: a model that sees regions looks again at the photos that the first stage found best.

A photo is one vector in the first stage, and many in this one: what words speak of is found in its regions
(`seesay.models.aligner`). Their vectors are computed when a photo is indexed and kept beside it, in half precision. The
score s of a sentence is brought onto the scale of the first stage's cosine c and blended with it,

    (1 - weight) · c + weight · (slope · s + offset)

so that it can be calibrated like a cosine. How many photos are looked at again and how much the second model counts is
chosen on dev (`benchmarks/cascade.py`), and stands in the config.json of its weights, under `cascade`. Weights without
that are not used: stage one alone answers.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.calibration import Calibration
from seesay.library.encoding import Encoder, WeightsEncoder
from seesay.library.store import Fingerprint, Hit, Store, Tags, Vector
from seesay.models import weights

if TYPE_CHECKING:
    from PIL import Image

    from seesay.images.features import Features
    from seesay.library.search import Sentence
    from seesay.library.sentences import WordScorer
    from seesay.models.aligner import Aligner

Boxes = NDArray[np.float32]

DEFAULT = "dvsa"
"""The weights of the second stage, where they are installed."""


@dataclass(frozen=True, slots=True)
class Blend:
    """How the second stage counts.

    Attributes:
        first: The weights of the first stage, for which this was chosen.
        k: Photos that are looked at again.
        weight: Of the second model, from 0 to 1.
        slope: With `offset`, brings its scores onto the cosines of the first.
        calibration: How a blended score becomes a probability, where that has been measured.

    Example:
        >>> blend = Blend("vse", k=100, weight=0.5, slope=2.0, offset=0.1)
        >>> blend.gain(np.array([0.4, 0.4]), np.array([0.15, 0.3])).round(2).tolist()
        [0.0, 0.15]
    """

    first: str
    k: int
    weight: float
    slope: float
    offset: float
    calibration: Calibration | None = None

    def gain(self, cosines: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.float64]:
        """What is added to the cosines of photos that the second model gives these scores."""
        return np.asarray(self.weight * (self.slope * scores + self.offset - cosines), np.float64)

    def to_table(self) -> dict[str, Any]:
        """What stands in config.json under `cascade`."""
        table = asdict(self)
        return {**table, "calibration": self.calibration.to_table() if self.calibration else None}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Blend":
        """Read what `to_table` gave; further keys are remarks."""
        kinds: dict[str, Any] = {"first": str, "k": int, "weight": int | float, "slope": int | float}
        kinds["offset"] = int | float
        if not isinstance(table, Mapping) or not all(isinstance(table.get(key), kind) for key, kind in kinds.items()):
            raise SeesayError(f"{origin}: 'cascade' is {table!r}", allowed=f"an object with {', '.join(kinds)}")
        if table["k"] < 1 or not 0 <= table["weight"] <= 1:
            raise SeesayError(f"{origin}: 'cascade' is {table!r}", allowed="k of 1 or more, a weight from 0 to 1")
        curve = table.get("calibration")
        calibration = Calibration.from_table(curve, f"{origin}: 'cascade'") if curve is not None else None
        return cls(**{key: table[key] for key in kinds}, calibration=calibration)


class Rescorer(Protocol):
    """What indexing and search need of a second model."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What its vectors depend on."""

    @property
    def blend(self) -> Blend:
        """How much it counts."""

    @property
    def pixels(self) -> int:
        """The shorter side below which photos must not be decoded."""

    def at_work(self) -> AbstractContextManager[Callable[[], None]]:
        """Ready to encode photos in threads, each of which first calls what this gives."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> NDArray[np.float16]:
        """The vectors of the regions of opened photos, (n, N, D)."""

    def score(self, regions: Vector, text: str) -> Vector:
        """How well photos whose regions are given, (n, N, D), fit a sentence: (n,)."""

    def point(self, regions: Vector, text: str) -> tuple[Vector, Boxes]:
        """The region of each photo that fits a phrase best: their similarity (n,) and its box (n, 4)."""


class AlignerRescorer:
    """Trained weights of an aligner, by name or folder; `blend` is for those whose config.json has none."""

    def __init__(self, name: str | Path, blend: Blend | None = None) -> None:
        self._encoder = WeightsEncoder(name)
        found = self._encoder.about.get("cascade")
        self.blend = blend or Blend.from_table(found, str(self._encoder.folder / "config.json"))

    @property
    def fingerprint(self) -> Fingerprint:
        return self._encoder.fingerprint

    @property
    def pixels(self) -> int:
        return self._encoder.pixels

    @cached_property
    def aligner(self) -> "Aligner":
        from seesay.models.aligner import load_aligner

        return load_aligner(self._encoder.folder)

    def at_work(self) -> AbstractContextManager[Callable[[], None]]:
        return self._encoder.at_work()

    def encode_photos(self, images: "Sequence[Image.Image]") -> NDArray[np.float16]:
        return self.encode_features(self.features_of(images))

    def features_of(self, images: "Sequence[Image.Image]") -> "Features":
        """What the network sees in opened photos."""
        return self._encoder.features_of(images)

    def encode_features(self, features: "Features") -> NDArray[np.float16]:
        """The vectors of the regions of photos that the network has seen, (n, N, D)."""
        import torch

        with torch.inference_mode():
            return np.asarray(self.aligner.encode_images(features).numpy(), np.float16)

    def sees_with(self, first: WeightsEncoder) -> bool:
        """Whether what its network gives is all that the first stage needs."""
        same = first.fingerprint.features == self.fingerprint.features
        return same and set(first.matcher.outputs) <= set(self.aligner.outputs)

    @cached_property
    def _without_torch(self) -> "WordScorer | None":
        from seesay.library.sentences import WordScorer

        about = self._encoder.about
        return WordScorer(self._encoder.folder, about, self._encoder.vocabulary) if WordScorer.knows(about) else None

    def score(self, regions: Vector, text: str) -> Vector:
        if self._without_torch is not None:
            return self._without_torch(regions, text)
        import torch

        with torch.inference_mode():
            scores = self.aligner.score(torch.from_numpy(regions).float(), self.aligner.encode_texts([text]))
        return np.asarray(scores[:, 0].numpy(), np.float32)

    def point(self, regions: Vector, text: str) -> tuple[Vector, Boxes]:
        if self._without_torch is not None:
            from seesay.images.regions import fixed_regions

            scores, best = self._without_torch.point(regions, text)
            return scores, fixed_regions(self._encoder.about["config"]["regions"])[best]
        import torch

        with torch.inference_mode():
            phrase = torch.nn.functional.normalize(self.aligner.encode_texts([text]).states[0].sum(0), dim=0)
            products = (torch.from_numpy(regions).float() @ phrase).numpy()  # (n, N)
        return products.max(1), self.aligner.boxes[products.argmax(1)]


def encode_both(
    first: Encoder, second: Rescorer, images: "Sequence[Image.Image]"
) -> tuple[Vector, list[Tags], NDArray[np.float16]]:
    """What both stages keep of opened photos, which a network that they share looks at once."""
    if isinstance(first, WeightsEncoder) and isinstance(second, AlignerRescorer) and second.sees_with(first):
        features = second.features_of(images)
        return *first.encode_features(features), second.encode_features(features)
    return *first.encode_photos(images), second.encode_photos(images)


def find_rescorer(first: str) -> AlignerRescorer | None:
    """The second stage that is installed for a first one; None where there is none."""
    for found in weights.installed():
        if found.folder.name == DEFAULT and (table := found.about.get("cascade")):
            blend = Blend.from_table(table, str(found.folder / "config.json"))
            return AlignerRescorer(DEFAULT, blend) if blend.first == first else None
    return None


def look_again(
    second: Rescorer, store: Store, hits: Sequence[Hit], sentences: "Sequence[Sentence]"
) -> list[dict[int, float]]:
    """For each sentence, what the second model adds to the cosine of the best contents, by id."""
    best = [hit for hit in hits[: second.blend.k] if hit.photos]
    regions = store.regions([hit.photos[0].content for hit in best])
    best = [hit for hit in best if hit.photos[0].content in regions]
    if not best:
        return [{} for _ in sentences]
    contents = [hit.photos[0].content for hit in best]
    vectors, parts = np.stack([hit.vector for hit in best]), np.stack([regions[content] for content in contents])
    gains = []
    for sentence in sentences:
        if not sentence.vector.any():  # words that were never seen have no direction, and nothing to blend with
            gains.append(dict[int, float]())
            continue
        gain = second.blend.gain(vectors @ sentence.vector, second.score(parts, sentence.text))
        gains.append(dict(zip(contents, gain.tolist(), strict=True)))
    return gains
