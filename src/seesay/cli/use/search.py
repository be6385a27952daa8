"""`seesay search`: find photos by what they show."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.use.index import Place, complain, describe, printable, progress_when_needed
from seesay.system.remote import as_url, is_remote

if TYPE_CHECKING:
    from PIL import Image

    from seesay.library.library import Library
    from seesay.library.ranking.likeness import Crop
    from seesay.library.ranking.search import Result, Results


def search(
    things: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY [FOLDER…]",
            help="What the photos show, in English, or - for one query a line from stdin; then folders to search. "
            "With --like the query may be left out.",
        ),
    ] = None,
    like: Annotated[
        list[Path] | None, typer.Option(metavar="PHOTO", help="Find photos like this one. Repeatable.")
    ] = None,
    box: Annotated[
        str,
        typer.Option(metavar="BOX", help="Only this crop of it: left,top,right,bottom from 0 to 1, as in 0,0,0.5,1."),
    ] = "",
    plus: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Is to fit as well. Repeatable.")] = None,
    minus: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Is not to fit. Repeatable.")] = None,
    after: Annotated[str, typer.Option(metavar="DATE", help="From this date on: 2019, 2019-07 or 2019-07-04.")] = "",
    before: Annotated[str, typer.Option(metavar="DATE", help="Before this date begins.")] = "",
    within: Annotated[
        str, typer.Option("--in", metavar="DATE|NAME", help="In this year, month or day, or in folders of this name.")
    ] = "",
    camera: Annotated[str, typer.Option(metavar="NAME", help="Part of the camera's name.")] = "",
    tag: Annotated[
        str, typer.Option(metavar="NAME", help="Only photos that look like this thing, such as guitar or church.")
    ] = "",
    top: Annotated[int, typer.Option("--top", "-n", min=1, metavar="N", help="How many photos.")] = 10,
    min_score: Annotated[
        float | None, typer.Option(metavar="SCORE", help="Leave out what scores less, such as 0.5.")
    ] = None,
    sort: Annotated[str, typer.Option(help="score, or date: the same photos, latest first.")] = "score",
    regions: Annotated[
        bool, typer.Option("--regions", help="Look for it in every region of the photos, and say in which it is.")
    ] = False,
    refresh: Annotated[bool, typer.Option("--index/--no-index", help="Look for new photos first.")] = True,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Draw a contact sheet: PNG, JPEG or WebP.")
    ] = None,
    paths0: Annotated[bool, typer.Option("--paths0", help="Print bare paths that end with NUL, for xargs -0.")] = False,
    library: Place = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Find photos by a sentence. Folders are indexed first, which the first time takes a while.

    A percentage is the probability that people would describe the photo so: likely from 30 %, maybe from 10 %.
    With --like and --regions it is the similarity instead. Copies of a photo are shown once.
    """
    from functools import partial

    from seesay.library.library import Library
    from seesay.library.stores.filters import read_filter

    queries, folders = _understand(things or [], bool(like or plus))
    where = read_filter(after=after, before=before, within=within, camera=camera, tag=tag)
    examples = _examples(like or [], box)
    if regions:
        _refuse_beside_regions({"--like": like, "--plus": plus, "--minus": minus})
    with Library(library) as opened:
        if refresh:
            _refresh(opened, folders, quiet=as_json or paths0)
        find = opened.search_regions if regions else partial(
            opened.search, like=examples, plus=plus or (), minus=minus or ()
        )  # fmt: skip
        for problem in opened.cascade.unused():
            typer.echo(f"seesay: {problem.what}; try: {problem.hint}", err=True)
        answers = []
        for query in queries:
            results = find(query, folders=folders, where=where, top=top, min_score=min_score, sort=sort)
            _warn(results)
            answers.append((query, results))
        if output is not None:
            _draw(opened, answers, output)
        if as_json:
            _print_json(opened, answers, many=(things or [""])[0] == "-")
        elif paths0:
            for _, results in answers:
                typer.echo(b"".join(os.fsencode(as_url(result.path)) + b"\0" for result in results), nl=False)
        else:
            _print_lines(answers)
    if not any(results for _, results in answers):
        if not as_json and not paths0:
            typer.echo("seesay: no photo fits", err=True)
        raise typer.Exit(1)


def _understand(things: Sequence[str], has_more: bool) -> tuple[list[str], list[Path]]:
    """The queries and the folders; where other options say what is wanted, all that is given are folders."""
    from seesay.errors import SeesayError

    if not things and not has_more:
        raise SeesayError("there is nothing to search for", hint='seesay search "two dogs in the snow" ~/Pictures')
    if has_more and (not things or _is_folder(things[0])):
        return [""], [Path(thing) for thing in things]
    query, *folders = things
    if query == "-":
        queries = [line for line in (line.strip() for line in sys.stdin) if line]
        if not queries:
            raise SeesayError("no query came from stdin", allowed="one query a line")
        return queries, [Path(folder) for folder in folders]
    return [query], [Path(folder) for folder in folders]


def _examples(photos: Sequence[Path], box: str) -> "Sequence[Path | Crop]":
    from seesay.errors import SeesayError
    from seesay.library.ranking.likeness import Crop, read_box

    if box and not photos:
        raise SeesayError("a box is a crop of a photo, and there is none", hint=f"--like PHOTO --box {box}")
    return [Crop(photo, read_box(box)) for photo in photos] if box else photos


def _refuse_beside_regions(others: Mapping[str, object]) -> None:
    from seesay.errors import SeesayError

    if given := [name for name, value in others.items() if value]:
        raise SeesayError(
            f"--regions looks for one thing, and {' and '.join(given)} ask for more",
            allowed="a query alone",
            hint='seesay search "red bus" --regions',
        )


def _is_folder(thing: str) -> bool:
    try:
        return is_remote(thing) or Path(thing).expanduser().is_dir()
    except (OSError, ValueError):  # a sentence too long for a name
        return False


def _refresh(opened: "Library", folders: Sequence[Path], *, quiet: bool) -> None:
    """Bring what is searched up to date, or say why that cannot be."""
    from seesay.errors import SeesayError
    from seesay.system.locks import LockHeldError

    known = [folder.path for folder in opened.folders()]
    if not folders and not known:
        raise SeesayError("the library has no photos yet", hint='seesay search "two dogs in the snow" ~/Pictures')
    for folder in folders or known:
        try:
            with progress_when_needed(f"indexing {printable(folder)}", quiet=quiet) as on_progress:
                done = opened.index(folder, on_progress=on_progress)
        except LockHeldError as error:
            typer.echo(f"seesay: {error.what}; searching what is there", err=True)
            return
        except SeesayError as error:
            if folders:
                raise
            typer.echo(f"seesay: {error.what}", err=True)  # one of many folders, such as a disk that is away
            continue
        if done.n_added or done.n_changed or done.failures:
            typer.echo(f"seesay: {folder}: {describe(done)}", err=True)
            complain(done)


def _warn(results: "Results") -> None:
    """Name the words of a query that were of no use."""
    if results.unknown_words:
        words = ", ".join(repr(word) for word in results.unknown_words)
        typer.echo(f"seesay: the model has never learned {words}: results may be off", err=True)


def _print_lines(answers: Sequence[tuple[str, list["Result"]]]) -> None:
    for place, (query, results) in enumerate(answers):
        if len(answers) > 1:
            typer.echo(f"{'' if place == 0 else chr(10)}# {query}")
        for result in results:
            score = f"{100 * result.score:3.0f} % {result.word:<8}" if result.word else f"{result.score:5.2f}"
            box = "".join(f"{100 * edge:4.0f}" for edge in result.box) + " %  " if result.box else ""
            copies = f"  (+{len(result.copies)})" if result.copies else ""
            typer.echo(f"{score}  {box}{result.photo.date[:10]}  {printable(result.path)}{copies}")


def _print_json(opened: "Library", answers: Sequence[tuple[str, list["Result"]]], *, many: bool) -> None:
    made_with = opened.store.fingerprint()
    tables: list[dict[str, Any]] = [
        {
            "query": query,
            "library": opened.store.name,
            "model": made_with.model if made_with else None,
            "results": list(_rows(results)),
        }
        for query, results in answers
    ]
    # ASCII: a name that is no text is written with escapes that Python and JavaScript read back.
    typer.echo(json.dumps(tables if many else tables[0], indent=2))


def _rows(results: Sequence["Result"]) -> Iterator[dict[str, Any]]:
    for result in results:
        photo = result.photo
        yield {
            "id": photo.id,
            "path": as_url(photo.path),
            "score": round(result.score, 4),
            "word": result.word,
            "date": photo.date,
            "taken": photo.taken,
            "camera": photo.camera,
            "width": photo.width,
            "height": photo.height,
            "copies": [str(copy.path) for copy in result.copies],
            "tags": list(result.tags),
            "box": [round(edge, 4) for edge in result.box] if result.box else None,
        }


def _draw(opened: "Library", answers: Sequence[tuple[str, list["Result"]]], output: Path) -> None:
    from seesay.drawing.sheets import Cell, draw_sheet, save_picture

    cells = [
        Cell(
            _thumbnail(opened, result),
            printable(Path(result.path.name)),
            f"{100 * result.score:.0f} % {result.word}" if result.word else f"{result.score:.2f}",
        )
        for _, results in answers
        for result in results
    ]
    if cells:
        save_picture(draw_sheet(cells, title=" · ".join(query for query, _ in answers), n_lines=2), output)
        typer.echo(f"seesay: drawn to {output}", err=True)


def _thumbnail(opened: "Library", result: "Result") -> "bytes | Image.Image | None":
    """The small picture of a photo, with the box of what was found in it."""
    thumbnail = opened.thumbnail(result.photo.id)
    if thumbnail is None or result.box is None:
        return thumbnail
    from seesay.drawing.overlay import Mark, draw_boxes
    from seesay.images.io import open_image

    return draw_boxes(open_image(thumbnail), [Mark(result.box)])
