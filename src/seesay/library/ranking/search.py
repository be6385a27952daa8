"""Search: every photo by its one vector, the best looked at again by later stages, with scores that mean something.

A query may have several parts: sentences that the photo is to fit, sentences that it is not to fit, and photos that it
is to be like. Where the weights are calibrated and no photo is given, the score is the probability that all of it
holds, the parts taken as independent. Vectors of photos and of sentences are not equally far apart, so with a photo in
the query the score is the plain cosine.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from seesay.errors import SeesayError
from seesay.library.ranking.calibration import Calibration, word_for
from seesay.library.ranking.cascade import RegionRescorer, Rescorer, look_again
from seesay.library.ranking.likeness import Box
from seesay.library.ranking.query import Parts, Sentence
from seesay.library.stores.store import Store
from seesay.library.tag_names import shown_names
from seesay.library.types import Filter, Hit, Photo

SORTS = ("score", "date")
NEAR_IDENTICAL = 0.96
"""Cosine from which two photos count as the same one, enlarged or compressed again. Heavy compression or a crop can
fall below it; of the 8,091 photos of Flickr8K no two different ones reach 0.95."""
_CANDIDATES = 1000
"""How many are looked at where the parts of a query have to be weighed against each other."""


@dataclass(frozen=True, slots=True)
class Result:
    """A photo that was found.

    Attributes:
        photo: Of several copies the one that the library has had longest.
        score: From 0 to 1 where it is a probability; higher is better.
        word: The probability in a word; None where the score is none.
        copies: The same photo under other paths: the same bytes, or so near that they are the same picture.
        tags: What the image classifier calls it, likeliest first.
        box: Where in the photo it is, in a search for regions: left, top, right, bottom as fractions.
    """

    photo: Photo
    score: float
    word: str | None
    copies: tuple[Photo, ...] = ()
    tags: tuple[str, ...] = ()
    box: Box | None = None

    @property
    def path(self) -> Path:
        return self.photo.path


def find_photos(
    store: Store,
    parts: Parts,
    calibration: Calibration | None,
    where: Filter,
    *,
    stages: Sequence[Rescorer] = (),
    without: Collection[int] = (),
    top: int = 20,
    min_score: float | None = None,
    sort: str = "score",
) -> list[Result]:
    """The photos that fit a query best.

    Args:
        stages: Each looks again at the best of what those before it found.
        without: Contents that are not to be found.
        top: How many, copies not counted.
        min_score: Leave out what scores less.
        sort: `score`, best first, or `date`, those same photos latest first.
    """
    _check(top, sort)
    if not parts.fits and not parts.like:
        raise SeesayError("the query asks for nothing", allowed="a sentence, or a photo to be like")
    for stage in stages:
        calibration = stage.blend.calibration or calibration
    direction = parts.direction()
    n = 2 * top + 32 if len(parts.fits) + len(parts.like) == 1 and not parts.unlike else max(_CANDIDATES, 4 * top)
    n = max(n + len(without), *(stage.blend.k for stage in stages), 0)
    worth = _worth(store, parts)
    bonus: dict[int, float] = {}
    for added in worth[: len(parts.fits)]:
        for content, more in added.items():
            bonus[content] = bonus.get(content, 0.0) + more
    while True:
        found = store.nearest(direction, n, where, bonus)
        hits = [hit for hit in found if hit.photos[0].content not in without]
        results = _fold(_look_again(store, hits, parts, worth, calibration, stages))
        if len(results) >= top or len(found) < n:
            break
        n *= 4  # so many copies that too few photos are left
    return _shown(store, results, top, min_score, sort)


def find_regions(
    store: Store,
    phrase: Sentence,
    stage: RegionRescorer,
    where: Filter,
    *,
    top: int = 20,
    min_score: float | None = None,
    sort: str = "score",
) -> list[Result]:
    """The photos that show something in one of their regions, each with that region.

    Of the photos whose one vector is nearest the stage looks at many more than in a search for photos: what
    fills a corner is not what the photo as a whole is like. The score is the similarity of region and phrase.
    """
    _check(top, sort)
    hits = store.nearest(phrase.vector, max(_CANDIDATES, 2 * top), where, _worth(store, Parts(fits=(phrase,)))[0])
    regions = store.views(stage.stage, [hit.photos[0].content for hit in hits])
    hits = [hit for hit in hits if hit.photos[0].content in regions]
    if not hits or not phrase.vector.any():
        return []
    scores, boxes = stage.point(np.stack([regions[hit.photos[0].content] for hit in hits]), phrase.text)
    order = np.argsort(-scores, kind="stable")
    placed = {hits[row].photos[0].content: boxes[row].tolist() for row in order}
    results = _fold([(float(scores[row]), None, hits[row]) for row in order])
    return [
        replace(result, box=tuple(placed[result.photo.content]))
        for result in _shown(store, results, top, min_score, sort)
    ]


def _check(top: int, sort: str) -> None:
    if sort not in SORTS:
        raise SeesayError(f"cannot sort by {sort!r}", allowed=SORTS)
    if top < 1:
        raise SeesayError(f"the best {top} photos are wanted", allowed="1 or more")


def _shown(store: Store, results: Sequence[Result], top: int, min_score: float | None, sort: str) -> list[Result]:
    """The best of what was found, in the order in which it is wanted, with tags."""
    best = [result for result in results if min_score is None or result.score >= min_score][:top]
    if sort == "date":
        best.sort(key=lambda result: result.photo.date, reverse=True)
    tags = store.tags([result.photo.content for result in best])
    return [replace(result, tags=shown_names(tags.get(result.photo.content, ()))) for result in best]


def _worth(store: Store, parts: Parts) -> list[dict[int, float]]:
    """For each sentence, those to fit first, what its clues add to the cosine of some contents."""
    sentences = [*parts.fits, *parts.unlike]
    classes = sorted({number for sentence in sentences for number in sentence.classes})
    tagged = store.tagged(classes) if classes else {}
    return [
        {content: sum(clue.worth(tags) for clue in sentence.clues) for content, tags in tagged.items()}
        if sentence.clues
        else {}
        for sentence in sentences
    ]


Ranked = list[tuple[float, str | None, Hit]]
"""Hits with score and word, best first."""


def _look_again(
    store: Store,
    hits: Sequence[Hit],
    parts: Parts,
    worth: Sequence[dict[int, float]],
    calibration: Calibration | None,
    stages: Sequence[Rescorer],
) -> Ranked:
    """Hits as the first stage and one after the other of the later ones rank them."""
    sentences = (*parts.fits, *parts.unlike)
    gains: list[dict[int, float]] = [{} for _ in sentences]
    ranked = _ranked(hits, parts, [worth, gains], calibration)
    for stage in stages:
        more = look_again(stage, store, [hit for _, _, hit in ranked], sentences, gains)
        for gain, added in zip(gains, more, strict=True):
            for content, value in added.items():
                gain[content] = gain.get(content, 0.0) + value
        ranked = _ranked(hits, parts, [worth, gains], calibration)
    return ranked


def _ranked(
    hits: Sequence[Hit],
    parts: Parts,
    bonuses: Sequence[Sequence[dict[int, float]]],
    calibration: Calibration | None,
) -> Ranked:
    """Hits by their cosines and by bonuses, of each of which there is one for each sentence."""
    if not hits:
        return []
    vectors = np.stack([hit.vector for hit in hits])  # (n, D)
    sentences = (*parts.fits, *parts.unlike)
    cosines = [vectors @ sentence.vector for sentence in sentences]
    for bonus in bonuses:
        for cosine, added in zip(cosines, bonus, strict=True):
            cosine += [added.get(hit.photos[0].content, 0.0) for hit in hits]
    fits, unlike = cosines[: len(parts.fits)], cosines[len(parts.fits) :]
    probable = calibration is not None and not parts.like
    if calibration is not None and probable:
        scores = np.prod(
            [calibration.probability(cosine, s.n_words) for cosine, s in zip(fits, parts.fits, strict=True)], axis=0
        )
    else:
        similar = [vectors @ vector for vector in parts.like]
        # The length of the sum of unit vectors is what makes it a cosine again.
        length = float(np.linalg.norm(np.sum([*(s.vector for s in parts.fits), *parts.like], axis=0)))
        scores = np.sum([*fits, *similar], axis=0).astype(np.float64) / max(length, 1.0)
    for cosine, sentence in zip(unlike, parts.unlike, strict=True):
        if calibration is None:
            scores = scores - np.maximum(cosine, 0)
        else:
            scores = scores * (1 - calibration.probability(cosine, sentence.n_words))
    order = np.argsort(-scores, kind="stable")
    return [(float(scores[row]), word_for(float(scores[row])) if probable else None, hits[row]) for row in order]


def _fold(ranked: Ranked) -> list[Result]:
    """Results without copies of better ones, each with its copies."""
    results: list[Result] = []
    kept = np.zeros((len(ranked), len(ranked[0][2].vector) if ranked else 0), np.float32)
    for score, word, hit in ranked:
        near = kept[: len(results)] @ hit.vector
        if len(near) and near.max() >= NEAR_IDENTICAL:
            twin = int(near.argmax())
            results[twin] = replace(results[twin], copies=results[twin].copies + hit.photos)
        else:
            kept[len(results)] = hit.vector
            results.append(Result(hit.photos[0], score, word, hit.photos[1:]))
    return results
