"""The later stages of search: models that cost more look again at the photos that the first stage found best.

A photo is one vector in the first stage. In the second it is many: what words speak of is found in its regions
(`seesay.models.aligner`). In the third a captioner says how likely it would have said the sentence of this photo
(`seesay.models.mrnn`). What they need of a photo, its *view*, is computed when it is indexed and kept beside it, in
half precision. A stage's score s of a sentence is brought onto the scale of what the stages before it gave, c, and
blended with it,

    (1 - weight) · c + weight · (slope · s + offset)

so that it can be calibrated like a cosine. How many photos a stage looks at and how much it counts is chosen on dev
(`seesay tune --only cascade`), and stands in the config.json of its weights, under `cascade`. Weights without that are
not used: the stages before them answer.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seesay.library.stores.store import Store
from seesay.library.types import Fingerprint, Hit, Vector
from seesay.settings.blend import Blend as Blend

if TYPE_CHECKING:
    from PIL import Image

    from seesay.library.ranking.query import Sentence

Boxes = NDArray[np.float32]


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
