"""`seesay library`: what the library holds, and how to repair it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from seesay.cli import light
from seesay.cli.messages import complain, describe
from seesay.cli.options import AsJson, PathOrAddress, Place, Workers
from seesay.cli.progress import progress_when_needed
from seesay.system.names import printable
from seesay.system.remote import as_path, as_url

app = typer.Typer(help="See what the library of photos holds, and mend it.", no_args_is_help=True)


@app.command()
def status(library: Place = None, as_json: AsJson = False) -> None:
    """Print where the library is, what it holds, and whether it fits the installed weights.

    \b
    Examples:
        seesay library status
        seesay library status --json
    """
    from seesay.library.indexing.places import exists, holds_library, library_place
    from seesay.library.library import Library

    place = library_place(library)
    if not holds_library(place):  # a look at it must not make one
        told: dict[str, object] = {
            "library": str(place),
            "fingerprint": None,
            "photos": 0,
            "contents": 0,
            "failures": 0,
            "folders": [],
        }
        lines = f"library   {printable(str(place))}\nphotos    0 (0 different)\nunusable  0"
        light.echo(json.dumps(told, indent=2) if as_json else lines)
        light.echo("seesay: no folder is indexed yet; try: seesay index ~/Pictures", err=True)
        return
    with Library(library) as opened:
        found = opened.status()
    if as_json:
        table = {
            "library": found.name,
            "fingerprint": asdict(found.fingerprint) if found.fingerprint else None,
            "agrees": found.agrees,
            "stages": dict(found.stages),
            **asdict(found.counts),
            "folders": [
                {
                    "folder": as_url(folder.path),
                    "exclude": folder.exclude,
                    "exists": exists(folder.path),
                    **asdict(counts),
                }
                for folder, counts in found.folders
            ],
        }
        light.echo(json.dumps(table, indent=2))
    else:
        light.echo(f"library   {printable(found.name)}")
        light.echo(f"photos    {found.counts.photos:,} ({found.counts.contents:,} different)")
        light.echo(f"unusable  {found.counts.failures:,}")
        if found.fingerprint:
            light.echo(f"model     {found.fingerprint.model} ({found.fingerprint.features})")
        for stage, name in found.stages.items():
            light.echo(f"{stage:<9} {name}")
        for folder, counts in found.folders:
            absent = "" if exists(folder.path) else ", not there"
            left_out = f", without {', '.join(folder.exclude)}" if folder.exclude else ""
            light.echo(f"folder    {printable(folder.path)}: {counts.photos:,} photos{absent}{left_out}")
        if not found.folders:
            light.echo("seesay: no folder is indexed yet; try: seesay index ~/Pictures", err=True)
        if found.could_rerank:
            light.echo("seesay: a model that reranks is installed; to search by it: seesay library rebuild", err=True)
        for problem in found.problems:
            light.echo(f"seesay: {problem.what}; try: {problem.hint}", err=True)
    if not found.agrees:
        light.echo("seesay: the weights have changed since; try: seesay library rebuild", err=True)
        raise light.Exit(1)


@app.command()
def use(
    model: Annotated[
        str | None, light.Argument(metavar="[WEIGHTS]", help="Weights by name or folder. Default: list what there is.")
    ] = None,
    library: Place = None,
    as_json: AsJson = False,
) -> None:
    """Search with another model. It gets its own index; the previous one is kept, so you can switch back.

    Prints how many photos the model has not encoded yet, and about how long that takes. The next `seesay index` or
    search encodes them.

    \b
    Examples:
        seesay library use
        seesay library use clip
        seesay library use eye
    """
    from seesay.verbs.switching import models_of, use_model

    if model is None:
        rows = models_of(library)
        if as_json:
            told = [dict(zip(("model", "index", "photos", "in_use"), map_row(row), strict=True)) for row in rows]
            light.echo(json.dumps(told, indent=2))
            return
        for name, _, n, used in rows:
            light.echo(f"{'*' if used else ' '} {name}  {n:,} photos")
        return
    found = use_model(model, library)
    if as_json:
        light.echo(json.dumps({**asdict(found), "place": str(found.place)}, indent=2))
        return
    light.echo(f"{found.model}: {found.n_photos - found.n_missing:,} of {found.n_photos:,} photos are indexed")
    if found.seconds is not None:
        light.echo(
            f"to index the other {found.n_missing:,} takes about {say_time(found.seconds)} here, and all of them "
            f"{found.bytes / 1e6:,.1f} MB beside their thumbnails; to begin: seesay index",
            err=True,
        )


def map_row(row: tuple[str, Path, int, bool]) -> tuple[str, str, int, bool]:
    """A row of `models_of` as JSON holds it."""
    return row[0], str(row[1]), row[2], row[3]


def say_time(seconds: float) -> str:
    """A time as one says it.

    Example:
        >>> [say_time(seconds) for seconds in (0.4, 3, 200, 9000)]
        ['1 second', '3 seconds', '3 minutes', '2.5 hours']
    """
    if seconds < 1.5:
        return "1 second"
    if seconds < 90:
        return f"{round(seconds)} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


@app.command()
def failures(
    folders: Annotated[
        list[PathOrAddress] | None,
        light.Argument(parser=as_path, metavar="[FOLDER…]", help="Only files below these folders."),
    ] = None,
    library: Place = None,
    as_json: AsJson = False,
) -> None:
    """List the files that could not be used, with the reasons; they are tried again when they change.

    \b
    Examples:
        seesay library failures
        seesay library failures ~/Pictures/2019 --json
    """
    from seesay.library.library import Library

    with Library(library) as opened:
        found = opened.failures(folders or ())
    if as_json:
        rows = [{"path": as_url(failure.path), "reason": failure.reason, "hint": failure.hint} for failure in found]
        light.echo(json.dumps(rows, indent=2))
        return
    for failure in found:
        light.echo(f"{printable(failure.path)}: {failure.reason}")
    for hint in dict.fromkeys(failure.hint for failure in found if failure.hint):
        light.echo(f"try for {sum(failure.hint == hint for failure in found):,} of them: {hint}", err=True)


@app.command()
def forget(
    folders: Annotated[
        list[PathOrAddress],
        light.Argument(parser=as_path, metavar="FOLDER…", help="Folders, which need not exist any more."),
    ],
    library: Place = None,
) -> None:
    """Remove folders from the library; the photos themselves stay where they are.

    \b
    Examples:
        seesay library forget ~/Pictures/old
    """
    from seesay.library.library import Library

    with Library(library) as opened:
        for folder in folders:
            light.echo(f"{printable(folder)}: {opened.forget(folder):,} photos forgotten")


@app.command()
def repair(workers: Workers = 0, library: Place = None) -> None:
    """Remove damaged rows from the library and encode the photos that they belong to again; the rest stays.

    On a PostgreSQL server this is the server's task. A library file that no longer opens needs `rebuild`.

    \b
    Examples:
        seesay library repair
    """
    from seesay.errors import SeesayError
    from seesay.library.indexing.places import exists, holds_library, library_place
    from seesay.library.library import Library
    from seesay.library.stores.repair import repair_rows

    place = library_place(library)
    if not isinstance(place, Path) or not holds_library(place):
        raise SeesayError(f"there is no library in a folder {place}", hint="seesay library rebuild")
    removed = {kind: n for kind, n in repair_rows(place).items() if n}
    light.echo(f"removed: {', '.join(f'{n:,} {kind}' for kind, n in removed.items()) or 'nothing'}")
    with Library(library) as opened:
        for folder in opened.folders():
            if exists(folder.path):
                with progress_when_needed(f"indexing {printable(folder.path)}", quiet=False) as on_progress:
                    done = opened.index(folder.path, workers=workers, on_progress=on_progress)
                light.echo(f"{printable(folder.path)}: {describe(done)}")
                complain(done)


@app.command()
def rebuild(
    folders: Annotated[
        list[PathOrAddress] | None,
        light.Argument(
            parser=as_path, metavar="[FOLDER…]", help="Folders to index, if the library is too damaged to name them."
        ),
    ] = None,
    model: Annotated[
        str | None,
        light.Option(
            "--model", "-m", metavar="WEIGHTS", help="Weights. Default: those that the library was made with."
        ),
    ] = None,
    precision: Annotated[
        str | None,
        light.Option(metavar="float|int8", help="Precision of the network. Default: that of the library."),
    ] = None,
    workers: Workers = 0,
    library: Place = None,
) -> None:
    """Encode every photo again: after a change of weights, or if the library is damaged.

    `seesay index` continues a stopped rebuild.

    \b
    Examples:
        seesay library rebuild
        seesay library rebuild ~/Pictures --model vse
    """
    from seesay.catalogue.weights import find
    from seesay.library.indexing.places import library_place, resolve_folder
    from seesay.library.library import Library
    from seesay.library.stores.database import recover

    place = library_place(library)
    if model is not None:  # what cannot be done moves nothing out of the way
        find(model)
    folders = [resolve_folder(folder) for folder in folders or ()]
    if isinstance(place, Path) and (kept := recover(place)):
        light.echo(f"seesay: the damaged library is kept as {kept}", err=True)
    failed = False
    with Library(library, model=model, precision=precision) as opened:
        with progress_when_needed("encoding again", quiet=False) as on_progress:
            reports = opened.rebuild(folders, workers=workers, on_progress=on_progress)
        for folder, done in reports.items():
            light.echo(f"{printable(folder)}: {describe(done)}")
            complain(done)
            failed = failed or bool(done.failures)
    if failed:
        raise light.Exit(1)
