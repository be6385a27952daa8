"""Search: every photo by its one vector, the best reranked by later stages; scores are calibrated probabilities.

A query may have several terms: sentences that the photo is to fit, sentences that it is not to fit, and photos that it
is to be like. Where the weights are calibrated and no photo is given, the score is the probability that all of it
holds, the terms taken as independent. Vectors of photos and of sentences are not equally far apart, so with a photo in
the query the score is the plain cosine.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seesay.errors import SeesayError
from seesay.library.ranking.calibration import LIKELY, Calibration
from seesay.library.ranking.cascade import RegionStage, Stage, most_photos, rerank
from seesay.library.ranking.likeness import Box
from seesay.library.ranking.order import Ranked
from seesay.library.ranking.query import Query, Sentence
from seesay.library.ranking.tags import worth_by_content
from seesay.library.stores.store import Store
from seesay.library.tag_names import shown_names
from seesay.library.types import Filter, Hit, Photo
from seesay.system import ranges
from seesay.text.typed.known_words import Reading
from seesay.text.typed.queries import TypedQuery

SORTS = ("score", "date")
NEAR_IDENTICAL = 0.96
"""Cosine from which two photos count as the same one, enlarged or compressed again. Heavy compression or a crop can
fall below it; of the 1,000 dev photos of Flickr8K no two different ones reach 0.95."""
_AT_ONCE = 512
"""Photos that are compared with all better ones at once."""
_CANDIDATES = 1000
"""How many are ranked where the terms of a query have to be weighed against each other."""


@dataclass(frozen=True, slots=True)
class Result:
    """A photo that was found.

    Attributes:
        photo: Of several copies the one that the library has had longest.
        score: From 0 to 1 where it is a probability; higher is better.
        word: The probability in a word; None where the score is none.
        copies: The same photo under other paths: the same bytes, or so near that they show the same.
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


class Results(list[Result]):
    """What a search has found, the best first.

    Attributes:
        readings: How the model reads each sentence of the query (`seesay.text.typed.known_words`).
        typed: What was understood of the text that was typed (`seesay.text.typed.queries`).
    """

    def __init__(
        self, results: Iterable[Result] = (), readings: Sequence[Reading] = (), typed: TypedQuery | None = None
    ) -> None:
        super().__init__(results)
        self.readings = tuple(readings)
        self.typed = typed or TypedQuery()

    def notes(self) -> list[str]:
        """What one should know of how the query was understood, a sentence each."""
        lost = "there is nothing else to search for" if not self else "search does without"
        read = [reading.notes(without="search does without", lost=lost) for reading in self.readings]
        return [*self.typed.notes(), *dict.fromkeys(note for notes in read for note in notes)]

    def understood(self) -> dict[str, Any]:
        """The same as a table, for programs."""
        dates = self.typed.dates
        languages = [reading.language for reading in self.readings if reading.language]
        return {
            "without": list(self.typed.without),
            "dates": None if dates is None else asdict(dates),
            "replaced": {word: instead for reading in self.readings for word, instead in reading.replaced},
            "unknown": list(self.unknown_words),
            "language": languages[0] if languages else None,
        }

    @property
    def nothing_likely(self) -> bool:
        """Whether photos were found, and none of them is likely to fit."""
        words = {result.word for result in self}
        return bool(words) and None not in words and LIKELY not in words

    @property
    def unknown_words(self) -> tuple[str, ...]:
        """Words of the query that the model has never learned and that name no tag: search did without them."""
        return tuple(dict.fromkeys(word for reading in self.readings for word in reading.unknown))


def find_photos(
    store: Store,
    query: Query,
    calibration: Calibration | None,
    where: Filter,
    *,
    stages: Sequence[Stage] = (),
    without: Collection[int] = (),
    top: int = 20,
    min_score: float | None = None,
    sort: str = "score",
) -> Results:
    """The photos that fit a query best.

    Args:
        stages: Each reranks the best of what those before it found.
        without: Contents that are not to be found.
        top: How many, copies not counted.
        min_score: Leave out what scores less.
        sort: `score`, best first, or `date`, those same photos latest first.
    """
    _check(top, sort)
    if query.is_empty:
        if query.typed.dates is None:
            raise SeesayError("the query is empty", allowed="a sentence, or a photo to be like")
        dated = [Result(photo, 1.0, None) for photo in store.latest(top, where)]
        return Results(_shown(store, dated, top, min_score, sort), (), query.typed)
    if not (query.fits or query.like or query.typed.without or query.typed.dates):
        raise SeesayError("the query is empty: it only says what is not wanted", allowed="a sentence, or a photo")
    readings, query = query.readings, query.without_lost()
    if query.is_empty or not (query.fits or query.like or query.typed.without):
        return Results((), readings, query.typed)
    for stage in stages:
        calibration = stage.blend.calibration or calibration
    direction = query.direction()
    n = 2 * top + 32 if len(query.fits) + len(query.like) == 1 and not query.unlike else max(_CANDIDATES, 4 * top)
    n = max(n + len(without), *(most_photos(stage, query) for stage in stages), 0)
    bonus = _bonus(store, query)
    total = dict(bonus[0]) if query.fits else {}
    for added in bonus[1 : len(query.fits)]:
        for content, more in added.items():
            total[content] = total.get(content, 0.0) + more
    while True:
        found = store.nearest(direction, n, where, total)
        hits = [hit for hit in found if hit.photos[0].content not in without]
        results = _fold(rerank(store, hits, query, bonus, calibration, stages))
        if len(results) >= top or len(found) < n:
            break
        n *= 4  # so many copies that too few photos are left
    return Results(_shown(store, results, top, min_score, sort), readings, query.typed)


def score_photo(
    store: Store, query: Query, calibration: Calibration | None, photo: Photo, *, stages: Sequence[Stage] = ()
) -> Results:
    """How well one photo fits a query, as a search that finds it says; nothing where there is nothing to go by."""
    readings, query = query.readings, query.without_lost()
    if query.is_empty:
        return Results((), readings, query.typed)
    for stage in stages:
        calibration = stage.blend.calibration or calibration
    vector = store.vectors([photo.content])[photo.content]
    hit = Hit(float(vector @ query.direction()), vector, (photo,))
    ((score, word, _),) = rerank(store, [hit], query, _bonus(store, query), calibration, stages)
    return Results([Result(photo, score, word)], readings, query.typed)


def find_regions(
    store: Store,
    phrase: Sentence,
    stage: RegionStage,
    where: Filter,
    *,
    top: int = 20,
    min_score: float | None = None,
    sort: str = "score",
) -> Results:
    """The photos that show something in one of their regions, each with that region.

    Of the photos whose one vector is nearest the stage scores many more than in a search for photos: what
    fills a corner is not what the photo as a whole is like. The score is the similarity of region and phrase.
    """
    _check(top, sort)
    if phrase.is_lost:
        return Results((), [phrase.reading])
    hits = store.nearest(phrase.vector, max(_CANDIDATES, 2 * top), where, _bonus(store, Query(fits=(phrase,)))[0])
    regions = store.views(stage.stage, [hit.photos[0].content for hit in hits])
    hits = [hit for hit in hits if hit.photos[0].content in regions]
    if not hits or not phrase.vector.any():
        return Results((), [phrase.reading])
    scores, boxes = stage.point(np.stack([regions[hit.photos[0].content] for hit in hits]), phrase.text)
    order = np.argsort(-scores, kind="stable")
    placed = {hits[row].photos[0].content: boxes[row].tolist() for row in order}
    results = _fold([(float(scores[row]), None, hits[row]) for row in order])
    shown = _shown(store, results, top, min_score, sort)
    return Results((replace(result, box=tuple(placed[result.photo.content])) for result in shown), [phrase.reading])


def _check(top: int, sort: str) -> None:
    if sort not in SORTS:
        raise SeesayError(f"cannot sort by {sort!r}", allowed=SORTS)
    ranges.require_count("top", top, ranges.COUNT)


def _shown(store: Store, results: Sequence[Result], top: int, min_score: float | None, sort: str) -> list[Result]:
    """The best of what was found, in the order in which it is wanted, with tags."""
    best = [result for result in results if min_score is None or result.score >= min_score][:top]
    if sort == "date":
        best.sort(key=lambda result: result.photo.date, reverse=True)
    tags = store.tags([result.photo.content for result in best])
    return [replace(result, tags=shown_names(tags.get(result.photo.content, ()))) for result in best]


def _bonus(store: Store, query: Query) -> list[dict[int, float]]:
    """For each sentence, those to fit first, what its clues add to the cosine of some contents."""
    classes = sorted({number for sentence in query.sentences for number in sentence.classes})
    if not classes:
        return [{} for _ in query.sentences]
    tagged = store.tagged(classes)
    return [worth_by_content(sentence.clues, tagged) for sentence in query.sentences]


def _fold(ranked: Ranked) -> list[Result]:
    """Results without copies of better ones, each with its copies."""
    results: list[Result] = []
    if not ranked:
        return results
    vectors = np.stack([hit.vector for _, _, hit in ranked])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    place_of: dict[int, int] = {}  # row of a photo that was kept → its place among the results
    for start in range(0, len(ranked), _AT_ONCE):
        near = vectors[start : start + _AT_ONCE] @ vectors[: start + _AT_ONCE].T  # (rows, those up to them)
        has_twins = np.asarray(np.tril(near >= NEAR_IDENTICAL, start - 1).any(1))
        for row, (score, word, hit) in enumerate(ranked[start : start + _AT_ONCE], start):
            above = near[row - start, :row]
            alike = np.flatnonzero(above >= NEAR_IDENTICAL).tolist() if has_twins[row - start] else ()
            twins = [twin for twin in alike if twin in place_of]
            if twins:
                place = place_of[max(twins, key=lambda twin: float(above[twin]))]
                results[place] = replace(results[place], copies=results[place].copies + hit.photos)
            else:
                place_of[row] = len(results)
                results.append(Result(hit.photos[0], score, word, hit.photos[1:]))
    return results
