"""`seesay index`: bring the library up to date with folders of photos."""

import json
from typing import TYPE_CHECKING, Annotated, Any

from seesay.cli import light
from seesay.cli.messages import complain, describe
from seesay.cli.options import AsJson, PathOrAddress, Place, Precision, Ray, Workers
from seesay.cli.progress import progress_when_needed
from seesay.system.names import printable
from seesay.system.remote import as_path, as_url

if TYPE_CHECKING:
    from seesay.library.indexing.index import Indexed


def index(
    folders: Annotated[
        list[PathOrAddress] | None,
        light.Argument(
            parser=as_path, metavar="[FOLDER…]", help="Folders of photos. Default: those that are indexed already."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        light.Option(metavar="PATTERN", help="Leave out names like '*.tif' or 'thumbs/', now and later. Repeatable."),
    ] = None,
    retry: Annotated[bool, light.Option("--retry", help="Try files again that could not be used last time.")] = False,
    workers: Workers = 0,
    ray: Ray = None,
    model: Annotated[
        str | None, light.Option("--model", "-m", metavar="WEIGHTS", help="Weights, for a library that is still empty.")
    ] = None,
    precision: Precision = None,
    library: Place = None,
    as_json: AsJson = False,
) -> None:
    """Make photos searchable: new and changed photos are encoded, deleted ones are removed from the index.

    Photos are only read. Hidden files and the names in a folder's `.seesayignore` are left out. The same
    command continues a stopped run.

    \b
    Examples:
        seesay index ~/Pictures
        seesay index ~/Pictures --exclude '*.tif' --exclude 'thumbs/'
        seesay index --retry
    """
    from seesay.errors import SeesayError
    from seesay.library.library import Library

    with Library(library, model=model, precision=precision) as opened:
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
                light.echo(f"{printable(folder)}: {describe(done)}")
                complain(done)
        if as_json:
            report = [{"folder": as_url(folder), **_table(done)} for folder, done in reports]
            light.echo(json.dumps({"library": opened.store.name, "folders": report}, indent=2))
    if any(done.failures or done.unreadable for _, done in reports):
        raise light.Exit(1)


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
