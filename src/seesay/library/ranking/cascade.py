"""The later stages of search: models that cost more look again at the photos that the first stage found best.

A photo is one vector in the first stage. In the second it is many: what words speak of is found in its regions
(`seesay.models.aligner`). In the third a captioner says how likely it would have said the sentence of this photo
(`seesay.models.mrnn`). What they need of a photo, its *view*, is computed when it is indexed and kept beside it, in
half precision. A stage's score s of a sentence is brought onto the scale of what the stages before it gave, c, and
blended with it,

    (1 - weight) · c + weight · (slope · s + offset)

so that it can be calibrated like a cosine. How many photos a stage looks at and how much it counts is chosen on dev
(`benchmarks/cascade.py`), and stands in the config.json of its weights, under `cascade`. Weights without that are not
used: the stages before them answer.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.ranking.calibration import Calibration
from seesay.library.stores.store import Store
from seesay.library.types import Fingerprint, Hit, Vector

if TYPE_CHECKING:
    from PIL import Image

    from seesay.library.ranking.query import Sentence

Boxes = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Blend:
    """How a stage counts.

    Attributes:
        after: The weights of the stages before it, for which this was chosen.
        k: Photos that are looked at again.
        weight: Of this stage's model, from 0 to 1.
        slope: With `offset`, brings its scores onto those of the stages before it.
        calibration: How a blended score becomes a probability, where that has been measured.

    Example:
        >>> blend = Blend(("vse",), k=100, weight=0.5, slope=2.0, offset=0.1)
        >>> blend.gain(np.array([0.4, 0.4]), np.array([0.15, 0.3])).round(2).tolist()
        [0.0, 0.15]
    """

    after: tuple[str, ...]
    k: int
    weight: float
    slope: float
    offset: float
    calibration: Calibration | None = None

    def gain(self, before: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.float64]:
        """What is added to the scores of the stages before, for photos that this stage's model gives these."""
        return np.asarray(self.weight * (self.slope * scores + self.offset - before), np.float64)

    def to_table(self) -> dict[str, Any]:
        """What stands in config.json under `cascade`."""
        table = asdict(self)
        return {
            **table,
            "after": list(self.after),
            "calibration": self.calibration.to_table() if self.calibration else None,
        }

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Blend":
        """Read what `to_table` gave; further keys are remarks."""
        kinds: dict[str, Any] = {"after": list, "k": int, "weight": int | float, "slope": int | float}
        kinds["offset"] = int | float
        if not isinstance(table, Mapping) or not all(isinstance(table.get(key), kind) for key, kind in kinds.items()):
            raise SeesayError(f"{origin}: 'cascade' is {table!r}", allowed=f"an object with {', '.join(kinds)}")
        if table["k"] < 1 or not 0 <= table["weight"] <= 1:
            raise SeesayError(f"{origin}: 'cascade' is {table!r}", allowed="k of 1 or more, a weight from 0 to 1")
        curve = table.get("calibration")
        calibration = Calibration.from_table(curve, f"{origin}: 'cascade'") if curve is not None else None
        numbers = {key: table[key] for key in kinds if key != "after"}
        return cls(after=tuple(map(str, table["after"])), **numbers, calibration=calibration)


class Rescorer(Protocol):
    """What indexing and search need of a later stage."""

    @property
    def stage(self) -> str:
        """Which it is (`seesay.library.types.STAGES`)."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What its views depend on."""

    @property
    def blend(self) -> Blend:
        """How much it counts."""

    @property
    def pixels(self) -> int:
        """The shorter side below which photos must not be decoded."""

    def at_work(self) -> AbstractContextManager[Callable[[], None]]:
        """Ready to encode photos in threads, each of which first calls what this gives."""

    def encode_photos(self, images: "Sequence[Image.Image]") -> NDArray[np.float16]:
        """The views of opened photos, (n, N, D)."""

    def score(self, views: Vector, text: str) -> Vector:
        """How well photos whose views are given, (n, N, D), fit a sentence: (n,)."""


@runtime_checkable
class RegionRescorer(Rescorer, Protocol):
    """A stage whose views are of regions."""

    def point(self, views: Vector, text: str) -> tuple[Vector, Boxes]:
        """The region of each photo that fits a phrase best: their similarity (n,) and its box (n, 4)."""


def held_stages(stages: Sequence[Rescorer], store: Store, first: str) -> tuple[Rescorer, ...]:
    """Of the stages after a first one those whose views a store holds, and whose blends were chosen for each other."""
    held = store.stages()
    used: list[Rescorer] = []
    for stage in stages:
        after = (first, *(before.fingerprint.model for before in used))
        if held.get(stage.stage) == stage.fingerprint and stage.blend.after == after:
            used.append(stage)
    return tuple(used)


def look_again(
    stage: Rescorer,
    store: Store,
    hits: Sequence[Hit],
    sentences: "Sequence[Sentence]",
    before: Sequence[Mapping[int, float]],
) -> list[dict[int, float]]:
    """For each sentence, what a stage adds to the scores of the best contents, by id.

    Args:
        hits: Best first.
        before: For each sentence, what the stages before it have added to the cosines.
    """
    best = [hit for hit in hits[: stage.blend.k] if hit.photos]
    views = store.views(stage.stage, [hit.photos[0].content for hit in best])
    best = [hit for hit in best if hit.photos[0].content in views]
    if not best:
        return [{} for _ in sentences]
    contents = [hit.photos[0].content for hit in best]
    vectors, seen = np.stack([hit.vector for hit in best]), np.stack([views[content] for content in contents])
    gains = []
    for sentence, added in zip(sentences, before, strict=True):
        if not sentence.vector.any():  # words that were never seen have no direction, and nothing to blend with
            gains.append(dict[int, float]())
            continue
        scores = vectors @ sentence.vector + [added.get(content, 0.0) for content in contents]
        gain = stage.blend.gain(scores, stage.score(seen, sentence.text))
        gains.append(dict(zip(contents, gain.tolist(), strict=True)))
    return gains
