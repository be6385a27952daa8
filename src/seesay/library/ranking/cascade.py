"""The later stages of search: models that cost more rerank the photos that the first stage found best.

A photo is one vector in the first stage. A later stage keeps more of it, its *view*: the stage `regions` a vector for
each region, so that the region a word refers to can be found (`seesay.models.aligner`), the stage `captions` what a
captioner needs to give the likelihood of a sentence (`seesay.models.mrnn`). Views are computed when a photo is indexed
and kept beside it, in half precision. A stage's score s of a sentence is brought onto the scale of what the stages
before it gave, c, and blended with it,

    (1 - weight) · c + weight · (slope · s + offset)

so that it can be calibrated like a cosine. How many photos a stage reranks, how much it counts, both with short texts
and with whole sentences, and after which stages it comes is chosen on dev (`seesay tune --only cascade`); it is the
table `cascade` in the config.json of its weights. Weights without that are not used: the stages before them answer.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.ranking.order import Ranked, rank
from seesay.library.ranking.query import Query
from seesay.library.stores.store import Store
from seesay.library.types import Fingerprint, Hit, Vector
from seesay.settings.blend import Blend as Blend
from seesay.settings.blend import Mix
from seesay.settings.calibration import Calibration

Boxes = NDArray[np.float32]


class Stage(Protocol):
    """What search needs of a later stage."""

    @property
    def stage(self) -> str:
        """Under which name the library keeps its views, such as `regions`."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What its views depend on."""

    @property
    def blend(self) -> Blend:
        """How much it counts, and after which stages."""

    def knows(self, word: str) -> bool:
        """Whether its model has learned a word: it counts for nothing with a short text of another one."""

    def score(self, views: Vector, text: str) -> Vector:
        """How well photos whose views are given, (n, N, D), fit a sentence: (n,)."""


@runtime_checkable
class RegionStage(Stage, Protocol):
    """A stage whose views are of regions."""

    def point(self, views: Vector, text: str) -> tuple[Vector, Boxes]:
        """The region of each photo that fits a phrase best: their similarity (n,) and its box (n, 4)."""


AnyStage = TypeVar("AnyStage", bound=Stage)


def arrange(stages: Sequence[AnyStage], first: str) -> tuple[AnyStage, ...]:
    """The stages that follow a first one, in the order that their blends were chosen for.

    Where there are several ways to go on, that of the most stages is taken. No two stages keep views of one name.
    """
    return _longest(stages, (first,), frozenset())


def _longest(stages: Sequence[AnyStage], before: tuple[str, ...], kept: frozenset[str]) -> tuple[AnyStage, ...]:
    follow = (stage for stage in stages if stage.blend.after == before and stage.stage not in kept)
    chains = [(stage, *_longest(stages, (*before, stage.fingerprint.model), kept | {stage.stage})) for stage in follow]
    return max(chains, key=len, default=())


def left_out(stages: Sequence[Stage], used: Sequence[Stage], first: str) -> list[SeesayError]:
    """For each stage that was tuned for a first one and is not used all the same, what is the matter with it."""
    chain = [first, *(stage.fingerprint.model for stage in used)]
    return [
        SeesayError(
            f"{stage.fingerprint.model} is not used for search: it was tuned to come after "
            f"{', '.join(stage.blend.after)}, and the stages are {', '.join(chain)}",
            hint=f"seesay tune {stage.fingerprint.model} --only cascade",
        )
        for stage in stages
        if stage not in used and stage.blend.after[:1] == (first,)
    ]


def rerank(
    store: Store,
    hits: Sequence[Hit],
    query: Query,
    bonus: Sequence[Mapping[int, float]],
    calibration: Calibration | None,
    stages: Sequence[Stage],
) -> Ranked:
    """Hits as the first stage and one after the other of the later ones rank them.

    Args:
        bonus: For each sentence of the query, what its clues add to the cosine of some contents.
    """
    gains: list[dict[int, float]] = [{} for _ in query.sentences]
    ranked = rank(hits, query, [bonus, gains], calibration)
    for stage in stages:
        if not most_photos(stage, query):
            continue  # it is there for its regions, and would not change the order
        more = _gains(stage, store, [hit for _, _, hit in ranked], query, gains)
        for gain, added in zip(gains, more, strict=True):
            for content, value in added.items():
                gain[content] = gain.get(content, 0.0) + value
        ranked = rank(hits, query, [bonus, gains], calibration)
    return ranked


def most_photos(stage: Stage, query: Query) -> int:
    """How many photos a stage looks at for a query, at most; none where it does not count."""
    return max((mix.k for mix in _mixes(stage, query) if mix.weight), default=0)


def _mixes(stage: Stage, query: Query) -> list[Mix]:
    """How a stage counts with each sentence of a query.

    The values of short texts were chosen where photos fit a text best. Those that come first for "no people" fit
    "people" least, and their scores would be stretched far beyond what was seen there.
    """
    fits = [stage.blend.mix_of(sentence.text, stage.knows) for sentence in query.fits]
    return fits + [stage.blend.whole] * len(query.unlike)


def _gains(
    stage: Stage, store: Store, hits: Sequence[Hit], query: Query, before: Sequence[Mapping[int, float]]
) -> list[dict[int, float]]:
    """For each sentence, what a stage adds to the scores of the best contents, by id.

    Args:
        hits: Best first.
        before: For each sentence, what the stages before it have added to the cosines.
    """
    mixes = _mixes(stage, query)
    best = [hit for hit in hits[: max(mix.k for mix in mixes if mix.weight)] if hit.photos]
    views = store.views(stage.stage, [hit.photos[0].content for hit in best])
    best = [hit for hit in best if hit.photos[0].content in views]
    if not best:
        return [{} for _ in query.sentences]
    contents = [hit.photos[0].content for hit in best]
    vectors, seen = np.stack([hit.vector for hit in best]), np.stack([views[content] for content in contents])
    gains = []
    for sentence, mix, added in zip(query.sentences, mixes, before, strict=True):
        if not (mix.weight and sentence.vector.any()):  # words that were never seen have nothing to blend with
            gains.append(dict[int, float]())
            continue
        own = contents[: mix.k]
        scores = vectors[: mix.k] @ sentence.vector + [added.get(content, 0.0) for content in own]
        gain = mix.gain(scores, stage.score(seen[: mix.k], sentence.text))
        gains.append(dict(zip(own, gain.tolist(), strict=True)))
    return gains
