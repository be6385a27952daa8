"""Where things are: the library itself, the folders of photos, and what is left out of them."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from seesay.errors import SeesayError
from seesay.library.indexing.beside import current_index
from seesay.library.indexing.ignoring import pattern_for, rebase_pattern
from seesay.library.stores.address import is_address
from seesay.library.stores.database import FILE
from seesay.library.stores.store import Store
from seesay.library.types import Filter, Folder
from seesay.system import remote
from seesay.system.files import chosen_place, expand_home, library_dir


def library_place(chosen: Path | str | None = None) -> Path | str:
    """Where the index of a person's library is: a folder, or the address of a server.

    Args:
        chosen: By default `SEESAY_LIBRARY`, else the user's data folder.
    """
    place = library_base(chosen)
    return current_index(place) if isinstance(place, Path) else place


def library_base(chosen: Path | str | None = None) -> Path | str:
    """The same, of the library with the indexes of all of its models (`seesay.library.indexing.beside`)."""
    chosen = chosen or os.environ.get("SEESAY_LIBRARY")
    if chosen:
        return str(chosen) if is_address(chosen) else chosen_place(remote.as_path(chosen))
    return library_dir()


def open_store(place: Path | str) -> Store:
    """The store that lies at a place; a folder that is not there is made."""
    if isinstance(place, Path):
        from seesay.library.stores.sqlite import SqliteStore

        return SqliteStore(place)
    try:
        import pgvector.psycopg  # noqa: F401
        import psycopg  # noqa: F401
    except ImportError as error:
        raise SeesayError("a library on a server needs more packages", hint="pip install 'seesay[postgres]'") from error
    from seesay.library.stores.postgres import PostgresStore

    return PostgresStore(place)


def holds_library(place: Path | str) -> bool:
    """Whether a place has a library; of a server that is asked when it is opened."""
    return not isinstance(place, Path) or os.path.exists(place / FILE)  # noqa: PTH110 - takes any name


def is_library_photo(path: Path) -> bool:
    """Whether the person's library knows a file; one that cannot be opened knows nothing."""
    place = library_place()
    if not holds_library(place):
        return False
    try:
        whole = path.resolve()
        with closing(open_store(place)) as store:
            return os.fsencode(whole) in store.files(whole.parent)
    except (SeesayError, OSError):
        return False


def absolute(folder: Path | str) -> Path:
    """An absolute path without links in it, which need not exist; one of object storage stays what it is."""
    folder = remote.as_path(folder)
    if remote.is_remote(folder):
        return folder
    try:
        return expand_home(folder).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself, a null
        raise SeesayError(f"there is no folder {str(folder)!r}: {error}") from error


def exists(folder: Path) -> bool:
    """Whether a folder is there at the moment, on a disk or in object storage that answers."""
    try:
        return _exists(folder)
    except remote.UnreachableError:
        return False


def _exists(folder: Path) -> bool:
    return remote.exists(folder) if remote.is_remote(folder) else folder.is_dir()


def resolve_folder(folder: Path | str) -> Path:
    """The folder that a person means, checked to exist."""
    try:
        path = absolute(folder)
        if _exists(path):
            return path
    except (OSError, ValueError) as error:  # a name too long, or with a null in it
        raise SeesayError(f"there is no folder {str(folder)!r}: {error}") from error
    what = "is a file" if not remote.is_remote(path) and path.exists() else "does not exist"
    raise SeesayError(f"the folder {folder} {what}", allowed="a folder that holds photos")


def without(folder: Folder, part: Path) -> Folder:
    """A folder that leaves out a part of it, where that is one."""
    if not part.is_relative_to(folder.path):
        return folder
    return replace(folder, exclude=tuple(dict.fromkeys([*folder.exclude, pattern_for(part, folder.path)])))


def remember(store: Store, path: Path, exclude: Sequence[str] | None = None) -> Folder:
    """The folder of a library that a path belongs to; it is remembered where there is none (`root_of`)."""
    while True:  # another indexer may have changed the folders in between
        folders = store.folders()
        root, remembered = root_of(path, folders, exclude)
        if remembered == folders or store.set_folders(remembered, known=folders):
            return root


def root_of(path: Path, folders: Sequence[Folder], exclude: Sequence[str] | None = None) -> tuple[Folder, list[Folder]]:
    """The indexed folder that a path belongs to, and the folders that are indexed from then on.

    Args:
        path: Itself, where no folder holds it: it then takes the place of those inside it.
        exclude: Patterns of what is left out of it, in place of those that it has.

    Raises:
        SeesayError: It lies in an indexed folder, whose patterns are not its own to choose.

    Example:
        >>> root, folders = root_of(Path("/photos"), [Folder(Path("/photos/2019"), ("*.tif",)), Folder(Path("/scans"))])
        >>> root, len(folders)
        (Folder(path=PosixPath('/photos'), exclude=('/2019/**/*.tif',)), 2)
    """
    for known in folders:
        if path == known.path:
            changed = known if exclude is None else replace(known, exclude=tuple(exclude))
            return changed, [changed if folder is known else folder for folder in folders]
        if path.is_relative_to(known.path):
            if exclude:
                raise SeesayError(
                    f"{path} lies in {known.path}, which is indexed as a whole",
                    hint=f"seesay index {known.path} --exclude PATTERN",
                )
            return known, [*folders]
    inner = [folder for folder in folders if folder.path.is_relative_to(path)]
    kept = [rebase_pattern(pattern, folder.path, path) for folder in inner for pattern in folder.exclude]
    added = Folder(path, (*(exclude or ()), *kept))
    return added, [*(folder for folder in folders if folder not in inner), added]


def within(where: Filter | None, folders: Sequence[Path | str]) -> Filter:
    """A filter that keeps only what lies below folders, where any are given."""
    found = where or Filter()
    return replace(found, folders=tuple(resolve_folder(folder) for folder in folders)) if folders else found
