"""`seesay.search`: find photos by what they show."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.system.names import printable
from seesay.system.remote import as_url
from seesay.verbs.results import Bars, Drawn, lines, no_bars, picture_html, say_share, table_html

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.images.sources import ImageSource
    from seesay.library.indexing.index import Indexed
    from seesay.library.library import Library
    from seesay.library.ranking.likeness import Crop, Source
    from seesay.library.ranking.search import Result, Results
    from seesay.library.types import Filter


NOTHING_LIKELY = "nothing is likely to fit; these come nearest"


@dataclass(frozen=True, slots=True, repr=False)
class SearchResults(Drawn):
    """The photos that fit a query.

    Attributes:
        query: What was searched for.
        library: The name of the library.
        model: The weights that the library was made with.
        results: The best first; each has `path`, `score`, `word`, `photo`, `copies`, `tags` and `box`.
        warnings: What one should know before relying on them.
        understood: What was made of the query: what photos are not to show, their dates, words read as others.
    """

    query: str
    library: str
    model: str | None
    results: "tuple[Result, ...]"
    warnings: tuple[str, ...] = ()
    understood: dict[str, Any] = field(default_factory=dict)
    _place: "Library | Path | str | None" = field(default=None, compare=False)

    @property
    def paths(self) -> list[Path]:
        """The files, the best first."""
        return [result.path for result in self.results]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> "Iterator[Result]":
        return iter(self.results)

    def __getitem__(self, place: int) -> "Result":
        return self.results[place]

    def thumbnails(self) -> "list[Image | bytes | None]":
        """The library's thumbnails of the photos, with a box where a region was searched for."""
        with open_library(self._place) as opened:
            found = [opened.thumbnail(result.photo.id) for result in self.results]
        return [
            _with_box(data, result) if data and result.box else data
            for data, result in zip(found, self.results, strict=True)
        ]

    def draw(self) -> "Image":
        """A contact sheet of the photos with their scores."""
        return draw_results([self])

    def __repr__(self) -> str:
        rows = [f"  {say_score(result)}  {result.path}" for result in self.results] or ["  no photo fits"]
        return lines(f"Search for {self.query!r} in {self.library}", *rows, *self.warnings)

    def _repr_html_(self) -> str:
        from html import escape

        from seesay.images.io import open_image

        rows = [
            [picture_html(open_image(small), 120) if small else "", say_score(result), escape(as_url(result.path))]
            for small, result in zip(self.thumbnails(), self.results, strict=True)
        ]
        return table_html(["photo", "score", "path"], rows)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay search --json` prints it."""
        rows = [
            {
                "id": result.photo.id,
                "path": as_url(result.photo.path),
                "score": round(result.score, 4),
                "word": result.word,
                "date": result.photo.date,
                "taken": result.photo.taken,
                "camera": result.photo.camera,
                "width": result.photo.width,
                "height": result.photo.height,
                "copies": [str(copy.path) for copy in result.copies],
                "tags": list(result.tags),
                "box": [round(edge, 4) for edge in result.box] if result.box else None,
            }
            for result in self.results
        ]
        about = {"query": self.query, "understood": self.understood, "library": self.library, "model": self.model}
        return {**about, "results": rows}


def search(
    query: str = "",
    folders: Sequence[Path | str] | Path | str = (),
    *,
    library: "Library | Path | str | None" = None,
    like: "Sequence[ImageSource | int | Crop]" = (),
    plus: Sequence[str] = (),
    minus: Sequence[str] = (),
    where: "Filter | None" = None,
    top: int = 10,
    min_score: float | None = None,
    sort: str = "score",
    regions: bool = False,
    exact: bool = False,
    index: bool = True,
    bars: Bars = no_bars,
) -> SearchResults:
    """Find photos by a sentence, by photos that they are like, or both.

    Args:
        query: What the photos show; may be empty where `like` or `plus` say what is wanted.
        folders: Search only below these; a folder that the library does not hold is indexed first.
        library: An open library, or where it is; by default the person's own.
        like: Images that the results are to be like, photos of the library by id, or crops of either
            (`seesay.library.Crop`).
        plus: Further sentences that a photo is to fit.
        minus: Sentences that it is not to fit.
        where: Which photos count, by date, camera and place (`seesay.library.Filter`).
        top: How many photos.
        min_score: Leave out photos that score less.
        sort: `score`, or `date`: the same photos, latest first.
        regions: Look for the query in every part of the photos, and give the box where it is.
        exact: Take the query as it stands; by default "without a dog" and "from 2019" in it are understood, and a word
            that the model has never learned is read as the one that it is spelled like.
        index: Bring the folders up to date first; by default all folders of the library.
        bars: Shows progress (`seesay.verbs.results.Bars`).

    Raises:
        SeesayError: There is nothing to search for or in, or a folder does not exist.

    Example:
        >>> seesay.search("two dogs in the snow", "~/Pictures").paths[0].name  # doctest: +SKIP
        'IMG_2044.jpg'
    """
    require_query(query, like, plus, minus)
    below = [folders] if isinstance(folders, str | Path) else list(folders)
    notes: list[str] = []
    with open_library(library) as opened:
        if index:
            notes += [news for _, news in update(opened, below, bars) if isinstance(news, str)]
        notes += unused_stages(opened)
        return find_in(
            opened, query, below, place=library, like=like, plus=plus, minus=minus, where=where, top=top,
            min_score=min_score, sort=sort, regions=regions, exact=exact, warnings=notes,
        )  # fmt: skip


def require_query(query: str, like: Sequence[object], plus: Sequence[str], minus: Sequence[str]) -> None:
    """Refuse a query that asks for nothing, before any folder is indexed for it."""
    if not (like or any(text.strip() for text in (query, *plus))):
        told = ": it only says what is not wanted" if minus else ""
        raise SeesayError(f"the query is empty{told}", allowed="a sentence, or a photo to be like")


def find_in(
    opened: "Library",
    query: str,
    folders: Sequence[Path | str] = (),
    *,
    place: "Library | Path | str | None" = None,
    like: "Sequence[ImageSource | int | Crop]" = (),
    plus: Sequence[str] = (),
    minus: Sequence[str] = (),
    regions: bool = False,
    warnings: Sequence[str] = (),
    **how: Any,
) -> SearchResults:
    """Search an open library as it is; `place` is where its thumbnails are found once it is closed."""
    if regions:
        if like or plus or minus:
            raise SeesayError("a search for regions takes one query", allowed="a query alone")
        results = opened.search_regions(query, folders=folders, **how)
    else:
        images = [_as_example(image) for image in like]
        results = opened.search(query, folders=folders, like=images, plus=plus, minus=minus, **how)
    made_with = opened.store.fingerprint()
    reason = NOTHING_LIKELY if results.nothing_likely else _why_none(opened, folders, how.get("where"), results)
    return SearchResults(
        query, opened.store.name, made_with.model if made_with else None, tuple(results),
        (*warnings, *results.notes(), *([reason] if reason else ())),
        results.understood(), opened if place is None else place,
    )  # fmt: skip


def _why_none(
    opened: "Library", folders: Sequence[Path | str], where: "Filter | None", found: "Results"
) -> str | None:  # fmt: skip
    """Which folder or filter leaves out every photo, in a sentence."""
    from seesay.library.indexing.places import within
    from seesay.library.stores.filters import narrow, why_none

    every = narrow(within(where, folders), found.typed.dates)
    return None if found else why_none(every, lambda part: bool(opened.latest(1, where=part)))


def update(
    opened: "Library", folders: Sequence[Path | str] = (), bars: Bars = no_bars
) -> "Iterator[tuple[Path | str, Indexed | str]]":
    """Bring folders up to date, by default all of the library.

    Yields:
        A folder, and what was done, or why it could not be brought up to date, which ends no search of the others.

    Raises:
        SeesayError: A folder that was asked for cannot be indexed, or there is none at all.
    """
    from seesay.system.locks import LockHeldError

    known = [folder.path for folder in opened.folders()]
    if not folders and not known:
        raise SeesayError("the library has no photos yet", hint='seesay search "two dogs in the snow" ~/Pictures')
    for folder in folders or known:
        try:
            with bars(f"indexing {printable(Path(folder))}") as on_progress:
                done = opened.index(folder, on_progress=on_progress)
        except LockHeldError as error:
            yield folder, f"{error.what}; searching what is there"
            return
        except SeesayError as error:
            if folders:
                raise
            yield folder, error.what  # one of many folders, such as a disk that is away
            continue
        yield folder, done


def unused_stages(opened: "Library") -> list[str]:
    """Later stages of search that are installed and do not take part, each with what to type."""
    return [f"{problem.what}; try: {problem.hint}" for problem in opened.cascade.unused()]


def open_library(place: "Library | Path | str | None") -> "AbstractContextManager[Library]":
    """A library that is closed at the end, unless it was open already."""
    from seesay.library.library import Library

    return nullcontext(place) if isinstance(place, Library) else Library(place)


def draw_results(answers: Sequence[SearchResults]) -> "Image":
    """A contact sheet of the photos of one or more searches."""
    from seesay.drawing.sheets import Cell, draw_sheet

    cells = [
        Cell(small, printable(Path(result.path.name)), say_score(result).strip())
        for answer in answers
        for small, result in zip(answer.thumbnails(), answer.results, strict=True)
    ]
    return draw_sheet(cells, title=" · ".join(answer.query for answer in answers), n_lines=2)


def say_score(result: "Result") -> str:
    """A score as people read it: a percentage with its word, or the plain similarity."""
    return say_share(result.score) if result.word else f"{result.score:5.2f}"


def _with_box(thumbnail: bytes, result: "Result") -> "Image":
    from seesay.drawing.overlay import Mark, draw_boxes
    from seesay.images.io import open_image

    assert result.box is not None
    return draw_boxes(open_image(thumbnail), [Mark(result.box)])


def _as_example(image: "ImageSource | int | Crop") -> "Source | Crop":
    from io import BytesIO

    from seesay.images.sources import as_source
    from seesay.library.ranking.likeness import Crop

    if isinstance(image, int | Crop):
        return image
    source = as_source(image)
    if isinstance(source, bytes | Path):
        return source
    data = BytesIO()
    source.save(data, "PNG")
    return data.getvalue()
