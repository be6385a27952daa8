"""`seesay index`: bring the library up to date with folders of photos."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.system.remote import as_url

if TYPE_CHECKING:
    from seesay.library.indexing.index import Indexed


def _check_place(place: str | None) -> str | None:
    from seesay.library.stores.address import refuse_password

    return refuse_password(place)


Place = Annotated[
    str | None,
    typer.Option(
        "--library",
        metavar="DIR|URL",
        callback=_check_place,
        help="The library, where it is not SEESAY_LIBRARY or your own: a folder, or postgresql://USER@HOST/DATABASE.",
    ),
]


def index(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER…]", help="Folders of photos; without any, those that are indexed already."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Leave out names that match, such as '*.tif' or 'thumbs/'; remembered. Repeatable."
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what could not be used last time.")] = False,
    workers: Annotated[int, typer.Option(min=0, metavar="N", help="Threads; 0 takes one per core.")] = 0,
    ray: Annotated[
        str | None,
        typer.Option(metavar="local|auto", help="Encode on a Ray cluster: one on this machine, or the one there is."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights for a library that is empty yet.")
    ] = None,
    library: Place = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Make photos searchable: new and changed ones are encoded, deleted ones disappear.

    Photos are only read. What a folder's `.seesayignore` names, and everything hidden, is left out. Stopped in the
    middle, the same command goes on where it was.
    """
    from seesay.errors import SeesayError
    from seesay.library.library import Library

    with Library(library, model=model) as opened:
        wanted = folders or [folder.path for folder in opened.folders()]
        if not wanted:
            raise SeesayError("the library has no folders yet", hint="seesay index ~/Pictures")
        reports = []
        for folder in wanted:
            with progress_when_needed(f"indexing {printable(folder)}", quiet=as_json) as on_progress:
                done = opened.index(
                    folder, exclude=exclude or None, retry=retry, workers=workers, ray=ray, on_progress=on_progress
                )
            reports.append((folder, done))
            if not as_json:
                typer.echo(f"{printable(folder)}: {describe(done)}")
                complain(done)
        if as_json:
            report = [{"folder": as_url(folder), **_table(done)} for folder, done in reports]
            typer.echo(json.dumps({"library": opened.store.name, "folders": report}, indent=2))
    if any(done.failures or done.unreadable for _, done in reports):
        raise typer.Exit(1)


@contextmanager
def progress_when_needed(title: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar that costs nothing, not even its import, where there is nothing to do."""
    with ExitStack() as stack:
        show: Callable[[int, int], None] | None = None

        def on_progress(done: int, total: int) -> None:
            nonlocal show
            if show is None:
                from seesay.cli.progress import progress_bar

                show = stack.enter_context(progress_bar(title, quiet=quiet))
            show(done, total)

        yield on_progress


def describe(done: "Indexed") -> str:
    """What was done, in half a sentence.

    Example:
        >>> from seesay.library.indexing.index import Indexed
        >>> describe(Indexed(n_found=1250, n_added=12, n_removed=1, n_encoded=11))
        '1,250 photos: 12 added, 1 removed'
        >>> describe(Indexed(n_found=1))
        '1 photo, nothing changed'
    """
    found = f"{done.n_found:,} photo{'' if done.n_found == 1 else 's'}"
    counts = (
        (done.n_added, "added"), (done.n_changed, "changed"), (done.n_removed, "removed"),
        (len(done.failures), "not usable"),
    )  # fmt: skip
    parts = [f"{count:,} {what}" for count, what in counts if count]
    return f"{found}: {', '.join(parts)}" if parts else f"{found}, nothing changed"


def complain(done: "Indexed") -> None:
    """Say on stderr what could not be used: a few in full, each hint once."""
    for failure in done.failures[:_N_SHOWN]:
        typer.echo(f"  not usable: {printable(failure.path)}: {failure.reason}", err=True)
    if len(done.failures) > _N_SHOWN:
        typer.echo(f"  and {len(done.failures) - _N_SHOWN:,} more: seesay library failures", err=True)
    for hint in dict.fromkeys(failure.hint for failure in done.failures if failure.hint):
        n_helped = sum(failure.hint == hint for failure in done.failures)
        typer.echo(f"  try for {n_helped:,} of them: {hint}", err=True)
    for folder, why in done.unreadable.items():
        typer.echo(f"  cannot look into {printable(folder)}: {why}", err=True)


_N_SHOWN = 5


def _table(done: "Indexed") -> dict[str, Any]:
    return {
        "photos": done.n_found,
        "added": done.n_added,
        "changed": done.n_changed,
        "removed": done.n_removed,
        "encoded": done.n_encoded,
        "failures": [{"path": as_url(failure.path), "reason": failure.reason} for failure in done.failures],
        "unreadable": {as_url(folder): why for folder, why in done.unreadable.items()},
    }


def printable(path: Path) -> str:
    """A path as it can be shown on a terminal: what is no text or would steer the terminal is written out.

    Example:
        >>> printable(Path("/photos/new\\nline \\x1b[31m caf\\udce9 ü.jpg"))
        '/photos/new\\\\nline \\\\x1b[31m caf\\\\udce9 ü.jpg'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in as_url(path))
