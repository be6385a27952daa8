"""Which photos lie below a folder. Nothing is opened and nothing is ever written there."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from seesay.errors import SeesayError
from seesay.library.indexing.ignoring import IGNORE_FILE, Patterns, is_left_out, read_ignore_file, read_patterns
from seesay.library.types import File, Folder
from seesay.system import remote

SUFFIXES: Final = frozenset(
    (b".jpg", b".jpeg", b".jpe", b".jfif", b".mpo", b".png", b".webp", b".gif", b".bmp", b".tif", b".tiff", b".avif",
     b".heic", b".heif", b".hif")
)  # fmt: skip


@dataclass(slots=True)
class Listing:
    """What a scan has found.

    Attributes:
        files: Files with the name of an image format, by path.
        unreadable: Folders that could not be listed, with the reason: nothing can be said of what lies in them.
    """

    files: dict[bytes, File] = field(default_factory=dict)
    unreadable: dict[bytes, str] = field(default_factory=dict)

    def is_hidden(self, path: bytes) -> bool:
        """Whether a path lies in a folder that could not be listed."""
        return any(path.startswith(folder + b"/") for folder in self.unreadable)


def scan(folder: Folder, below: Path | None = None) -> Listing:
    """List the photos below a folder, or below one of the folders in it.

    Hidden files and folders are left out, and what `folder.exclude` or a `.seesayignore` names. Links are followed,
    except to a folder that is scanned anyway or that contains the link, which would have no end.

    Args:
        folder: An absolute path without links in it.
        below: The part to look at, by default the whole.

    Raises:
        SeesayError: The folder does not exist, cannot be listed or is the whole machine, or the part is one that is
            left out.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("a.JPG", "b.txt", ".hidden.png", "c.tif"):
        ...         _ = Path(root, name).write_bytes(b"...")
        ...     [path.rpartition(b"/")[2] for path in scan(Folder(Path(root).resolve(), ("*.tif",))).files]
        [b'a.JPG']
    """
    start = below or folder.path
    if remote.is_remote(start):
        return _scan_storage(folder, start)
    if not start.is_dir():
        raise SeesayError(f"there is no folder {start}", hint=f"if it is gone for good: seesay library forget {start}")
    if start == Path("/"):  # typed by mistake: an empty variable before a slash
        raise SeesayError("/ is the whole machine, and no folder of photos", hint="name the folders that hold photos")
    root = os.fsencode(folder.path)
    listing = Listing()
    seen: set[tuple[int, int]] = set()
    waiting = [(os.fsencode(start), _patterns_above(folder, start))]
    while waiting:
        place, patterns = waiting.pop()
        try:
            status = os.stat(place)  # noqa: PTH116 - names that are bytes, here and below
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(place) as opened:
                entries = sorted(opened, key=lambda entry: entry.name)
        except OSError as error:
            if place == os.fsencode(start):
                raise SeesayError(f"cannot list {start}: {error.strerror or error}") from error
            listing.unreadable[place] = error.strerror or str(error)
            continue
        if any(entry.name == IGNORE_FILE.encode() for entry in entries):
            patterns += (read_ignore_file(os.fsdecode(place)),)
        folders = list(_take(entries, patterns, root, listing))
        waiting += [(inner, patterns) for inner in reversed(folders)]
    return listing


def _scan_storage(folder: Folder, start: Path) -> Listing:
    """The photos below a folder of object storage, which knows neither links nor folders that cannot be listed."""
    listing = Listing()
    patterns = (read_patterns(folder.exclude, folder.path),)
    for entry in sorted(remote.list_folder(start, recursive=True)):
        name = os.fsencode(entry.path.name)
        inner = entry.path.relative_to(folder.path).parts
        above = [folder.path.joinpath(*inner[: depth + 1]) for depth in range(len(inner) - 1)]
        if (
            os.path.splitext(name)[1].lower() in SUFFIXES  # noqa: PTH122
            and not any(part.startswith(".") for part in inner)
            and not any(is_left_out(str(place), patterns, is_folder=True) for place in above)
            and not is_left_out(str(entry.path), patterns, is_folder=False)
        ):
            path = os.fsencode(entry.path)
            listing.files[path] = File(path, entry.size, entry.mtime_ns)
    return listing


def _patterns_above(folder: Folder, start: Path) -> tuple[Patterns, ...]:
    """What a folder and those between it and `start` leave out, checked not to be `start` itself."""
    patterns: tuple[Patterns, ...] = (read_patterns(folder.exclude, folder.path),) if folder.exclude else ()
    place = folder.path
    for name in start.relative_to(folder.path).parts:
        if (place / IGNORE_FILE).is_file():
            patterns += (read_ignore_file(str(place)),)
        place /= name
        if name.startswith(".") or is_left_out(str(place), patterns, is_folder=True):
            why = "it is hidden" if name.startswith(".") else "a pattern leaves it out"
            raise SeesayError(f"{place} is no part of the indexed folder {folder.path}: {why}")
    return patterns


def _take(
    entries: Sequence[os.DirEntry[bytes]], patterns: tuple[Patterns, ...], root: bytes, listing: Listing
) -> Iterator[bytes]:
    """Put the photos among the entries of a folder on the list, and give the folders to look into."""
    for entry in entries:
        name = entry.name
        if name.startswith(b"."):
            continue
        try:
            is_folder = entry.is_dir()
            if not is_folder and os.path.splitext(name)[1].lower() not in SUFFIXES:  # noqa: PTH122
                continue
            if patterns and is_left_out(os.fsdecode(entry.path), patterns, is_folder=is_folder):
                continue
            if is_folder:
                if not (entry.is_symlink() and _is_scanned_anyway(entry.path, root)):
                    yield entry.path
            elif entry.is_file():
                listing.files[entry.path] = File.of(entry.path, entry.stat())
        except OSError:
            continue  # a link to nothing, or a file that went away meanwhile


def _is_scanned_anyway(link: bytes, root: bytes) -> bool:
    """Whether a link leads into the folder that is being scanned, or to one above it or above the link itself."""
    target, holder = (os.path.realpath(path).rstrip(b"/") + b"/" for path in (link, link.rpartition(b"/")[0]))
    start = root.rstrip(b"/") + b"/"
    return target.startswith(start) or start.startswith(target) or holder.startswith(target)
