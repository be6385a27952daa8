"""What the routes of the server share: the library, the models, and a lane for each kind of work."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.ranking.likeness import Crop, Source
from seesay.library.ranking.query import read_query
from seesay.library.ranking.search import Results, score_photo
from seesay.library.tag_names import shown_names
from seesay.library.types import Filter, Photo
from seesay.verbs.photos import PhotoModels
from seesay.web.answers import JudgedAnswer, ResultAnswer, SearchAnswer, StatusAnswer, UnderstoodAnswer
from seesay.web.indexing import Indexer
from seesay.web.lanes import Amount, Lane
from seesay.web.queries import Page

N_EXAMPLES, N_LOOKED_AT = 6, 300
"""Example queries, and the photos that they are taken from."""
ARRIVING = 256 * 1024 * 1024
"""Bytes of photos that are being sent at a time."""
BY_DATE = 200
"""The photos that fit best, of which the latest are shown first."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a visitor searches for, but for the photos that the results are to be like."""

    q: str
    plus: Sequence[str]
    minus: Sequence[str]
    where: Filter
    sort: str
    page: Page
    exact: bool = False


class Service:
    """Where requests are worked on."""

    def __init__(self, library: Library, models: PhotoModels, indexer: Indexer) -> None:
        self.library = library
        self.models = models
        self.indexer = indexer
        self.arriving = Amount("photos", ARRIVING)
        self.searching = Lane("searches", workers=3, waiting=64, tidies_after=200)
        self.drawing = Lane("images", workers=1, waiting=32, tidies_after=50)
        self.explanations = Lane("explanations", workers=1, waiting=8, tidies_after=10)

    async def prepare(self) -> None:
        """Load the models before a request needs them; if that fails, the first request says why."""
        with suppress(SeesayError):
            await self.explanations.run(self.models.prepare)

    def close(self) -> None:
        """End what is under way in the background."""
        self.indexer.close()
        for lane in (self.searching, self.drawing, self.explanations):
            lane.close()

    def search(self, asked: Question, like: Sequence[Source | Crop] = ()) -> SearchAnswer:
        """Answer a search, perhaps for what is like photos, or crops of them."""
        return self._answer(asked, partial(self.library.search, like=like, plus=asked.plus, minus=asked.minus))

    def search_regions(self, asked: Question) -> SearchAnswer:
        """Answer a search for regions of photos."""
        return self._answer(asked, self.library.search_regions)

    def _answer(self, asked: Question, find: Callable[..., Results]) -> SearchAnswer:
        page = asked.page
        top = BY_DATE if asked.sort == "date" else page.end + 1
        results = find(asked.q, where=asked.where, top=top, sort=asked.sort, exact=asked.exact)
        return SearchAnswer(
            query=asked.q,
            results=[ResultAnswer.of(result) for result in results[page.offset : page.end]],
            next=page.next_after(len(results)),
            unknown_words=list(results.unknown_words),
            understood=UnderstoodAnswer(notes=results.notes(), **results.understood()),
        )

    def judge(self, photo: Photo, sentence: str) -> JudgedAnswer:
        """How well a photo fits a sentence, whatever was searched for."""
        library = self.library
        query = read_query(library.encoder, sentence)
        stages = library.cascade.held(library.store)
        found = score_photo(library.store, query, library.encoder.calibration, photo, stages=stages)
        best = found[0] if found else None
        return JudgedAnswer(
            score=round(best.score, 4) if best else None, word=best.word if best else None, notes=found.notes()
        )

    def examples(self) -> list[str]:
        """Queries that this library can answer: what its latest photos look like most often."""
        photos = self.library.latest(N_LOOKED_AT)
        tags = self.library.store.tags([photo.content for photo in photos])
        counts = Counter(name for own in tags.values() for name in shown_names(own)[:1])
        return [name for name, _ in counts.most_common(N_EXAMPLES)]

    def status(self) -> StatusAnswer:
        return StatusAnswer.of(self.library.status(), self.indexer.progress)
