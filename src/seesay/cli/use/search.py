"""`seesay search`: find photos by what they show."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import complain, describe, warn
from seesay.cli.options import AsJson, Exact, Overwrite, PathOrAddress, Place, Precision
from seesay.cli.pictures import require_drawable
from seesay.cli.progress import progress_when_needed
from seesay.system import ranges
from seesay.system.files import expand_home
from seesay.system.names import printable
from seesay.system.remote import as_path, as_url, is_remote

if TYPE_CHECKING:
    from seesay.library.library import Library
    from seesay.library.ranking.likeness import Crop
    from seesay.verbs.searching import SearchResults
_MOST_TYPED = 1_000_000


def search(
    things: Annotated[
        list[str] | None,
        light.Argument(
            metavar="QUERY [FOLDER…]",
            help="What the photos show, in English, then folders to search. - reads queries from stdin, one per line. "
            "With --like the query may be left out.",
        ),
    ] = None,
    like: Annotated[
        list[PathOrAddress] | None,
        light.Option(parser=as_path, metavar="PHOTO", help="Find photos like this one. Repeatable."),
    ] = None,
    box: Annotated[
        str,
        light.Option(metavar="BOX", help="Only this crop of it: left,top,right,bottom from 0 to 1, as in 0,0,0.5,1."),
    ] = "",
    plus: Annotated[
        list[str] | None, light.Option(metavar="TEXT", help="A further sentence that photos should fit. Repeatable.")
    ] = None,
    minus: Annotated[
        list[str] | None, light.Option(metavar="TEXT", help="A sentence that photos should not fit. Repeatable.")
    ] = None,
    after: Annotated[
        str, light.Option(metavar="DATE", help="Only from this date on: 2019, 2019-07 or 2019-07-04.")
    ] = "",
    before: Annotated[
        str, light.Option(metavar="DATE", help="Only before this date: 2019, 2019-07 or 2019-07-04.")
    ] = "",
    within: Annotated[
        str, light.Option("--in", metavar="DATE|NAME", help="In this year, month or day, or in folders of this name.")
    ] = "",
    camera: Annotated[str, light.Option(metavar="NAME", help="A part of the camera's name, such as canon.")] = "",
    tag: Annotated[str, light.Option(metavar="NAME", help="Only photos with this tag, such as guitar or church.")] = "",
    top: Annotated[
        int, light.Option("--top", "-n", min=1, max=ranges.RESULTS, metavar="N", help="How many photos.")
    ] = 10,
    min_score: Annotated[
        float | None,
        light.Option(
            callback=ranges.require_score, metavar="SCORE", help="Only photos that score at least this, such as 0.5."
        ),
    ] = None,
    sort: Annotated[str, light.Option(help="score, or date: the same photos, latest first.")] = "score",
    regions: Annotated[
        bool, light.Option("--regions", help="Search the regions of the photos, and print the box of each.")
    ] = False,
    exact: Exact = False,
    refresh: Annotated[bool, light.Option("--index/--no-index", help="Look for new photos first.")] = True,
    output: Annotated[
        Path | None, light.Option("--output", "-o", metavar="FILE", help="Draw a contact sheet: PNG, JPEG or WebP.")
    ] = None,
    overwrite: Overwrite = False,
    paths0: Annotated[
        bool, light.Option("--paths0", help="Print only the paths, each followed by NUL, for xargs -0.")
    ] = False,
    precision: Precision = None,
    library: Place = None,
    as_json: AsJson = False,
) -> None:
    """Find photos by a sentence. Folders are indexed first, which takes a while the first time.

    The percentage estimates how many of a hundred people would say that the photo fits: at least 30 is likely, at least
    10 is maybe. With --like and --regions a similarity is printed instead. Copies of a photo are listed once.

    A query may say what the photos should not show ("a dog without a ball", "no people") and when they were taken ("in
    2019", "last summer", "in december"). seesay prints how it understood the query. In quotation marks, or with
    --exact, a query is taken literally.

    \b
    Examples:
        seesay search "two dogs in the snow" ~/Pictures
        seesay search "a red car" --after 2019 --camera canon -n 20
        seesay search --like photo.jpg --plus "at night"
        seesay search "red bus" --regions -o found.png
        seesay search "a birthday cake" --paths0
    """
    from seesay.library.library import Library
    from seesay.library.stores.filters import read_filter
    from seesay.verbs.searching import find_in, require_query, unused_stages

    queries, folders = _understand(things or [], bool(like or plus))
    for query in queries:
        require_query(query, like or (), plus or (), minus or ())
    where = read_filter(after=after, before=before, within=within, camera=camera, tag=tag)
    examples = _examples(like or [], box)
    if output is not None:
        require_drawable(output, *folders, *(like or ()), overwrite=overwrite)
    if regions:
        _refuse_beside_regions({"--like": like, "--plus": plus, "--minus": minus})
    with Library(library, precision=precision) as opened:
        if refresh:
            _refresh(opened, folders, quiet=as_json or paths0)
        warn(unused_stages(opened))
        answers = []
        for query in queries:
            found = find_in(
                opened, query, folders, like=examples, plus=plus or (), minus=minus or (), regions=regions,
                where=where, top=top, min_score=min_score, sort=sort, exact=exact,
            )  # fmt: skip
            warn(found.warnings)
            answers.append(found)
        if output is not None and any(answers):
            from seesay.drawing.sheets import save_picture
            from seesay.verbs.searching import draw_results

            save_picture(draw_results(answers), output)
            light.echo(f"seesay: drawn to {output}", err=True)
    if as_json:
        tables = [found.to_dict() for found in answers]
        # ASCII: a name that is no text is written with escapes that Python and JavaScript read back.
        light.echo(json.dumps(tables if (things or [""])[0] == "-" else tables[0], indent=2))
    elif paths0:
        for found in answers:
            light.echo(b"".join(os.fsencode(as_url(path)) + b"\0" for path in found.paths), nl=False)
    else:
        _print_lines(answers)
    if not any(answers):
        if not as_json and not paths0:
            light.echo("seesay: no photo fits", err=True)
        raise light.Exit(1)


def _understand(things: Sequence[str], has_more: bool) -> tuple[list[str], list[Path]]:
    """The queries and the folders; where other options say what is wanted, all that is given are folders."""
    from seesay.errors import SeesayError

    if not things and not has_more:
        raise SeesayError("there is nothing to search for", hint='seesay search "two dogs in the snow" ~/Pictures')
    if has_more and (not things or _is_folder(things[0])):
        return [""], [as_path(thing) for thing in things]
    query, *folders = things
    if query == "-":
        queries = [line for line in (line.strip() for line in _read_stdin().splitlines()) if line]
        if not queries:
            raise SeesayError("no query came from stdin", allowed="one query per line")
        return queries, [as_path(folder) for folder in folders]
    _require_folders(query, folders)
    return [query], [as_path(folder) for folder in folders]


def _require_folders(query: str, folders: Sequence[str]) -> None:
    """Where words of a query, or photos, stand in the place of folders, say what to type."""
    from seesay.errors import SeesayError

    files = [folder for folder in folders if _is_file(folder)]
    if files:
        raise SeesayError(
            f"the folder {printable(files[0])} is a file",
            allowed="a folder that holds photos",
            hint=f'seesay identify "{printable(query)}" {" ".join(map(printable, files[:3]))}{" …" * (len(files) > 3)}',
        )
    words = [folder for folder in folders if folder.isalpha() and not _is_folder(folder)]
    if words and query.isalpha():
        rest = "".join(f" {folder}" for folder in folders if folder not in words)
        raise SeesayError(
            f"the folder {words[0]} does not exist",
            allowed="a query in quotation marks, then folders that hold photos",
            hint=f'seesay search "{" ".join([query, *words])}"{rest}',
        )


def _read_stdin() -> str:
    """What is typed or piped in, as far as anybody would: something that never ends is refused."""
    from seesay.errors import SeesayError

    text = sys.stdin.read(_MOST_TYPED + 1)
    if len(text) > _MOST_TYPED:
        raise SeesayError("too much came from stdin", allowed=f"queries of {_MOST_TYPED:,} characters together")
    return text


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
        return is_remote(thing) or expand_home(thing).is_dir()
    except (OSError, ValueError):  # a sentence too long for a name
        return False


def _is_file(thing: str) -> bool:
    try:
        return not is_remote(thing) and expand_home(thing).is_file()
    except (OSError, ValueError):
        return False


def _refresh(opened: "Library", folders: Sequence[Path], *, quiet: bool) -> None:
    """Bring what is searched up to date, or say why that cannot be."""
    from seesay.verbs.searching import update

    for folder, news in update(opened, folders, partial(progress_when_needed, quiet=quiet)):
        if isinstance(news, str):
            warn([news])
        elif news.n_added or news.n_changed or news.failures:
            light.echo(f"seesay: {folder}: {describe(news)}", err=True)
            complain(news)


def _print_lines(answers: Sequence["SearchResults"]) -> None:
    from seesay.verbs.searching import say_score

    for place, found in enumerate(answers):
        if len(answers) > 1:
            light.echo(f"{'' if place == 0 else chr(10)}# {found.query}")
        for result in found:
            box = "".join(f"{100 * edge:4.0f}" for edge in result.box) + " %  " if result.box else ""
            copies = f"  (+{len(result.copies)})" if result.copies else ""
            light.echo(f"{say_score(result)}  {box}{result.photo.date[:10]}  {printable(result.path)}{copies}")
