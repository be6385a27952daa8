"""Bringing a library up to date with a folder: what is new is encoded once, what is gone disappears.

A file whose size and time are known is left alone. Any other is read, and where its content is known under another
path, nothing is computed. The rest is decoded once, for the thumbnail and for the network. Every batch of a few photos
is one transaction: whatever ends the process, what was written before stays and is not computed again.
"""

from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from seesay.errors import SeesayError
from seesay.library.cascade import Rescorer
from seesay.library.encoding import Encoder
from seesay.library.scan import Listing, scan
from seesay.library.store import Failure, File, Folder, Store, as_path

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Indexed:
    """What bringing a folder up to date has done.

    Attributes:
        n_found: Photos that lie there.
        n_added: Paths that the library did not have.
        n_changed: Paths whose content is another one.
        n_removed: Paths that are gone.
        n_encoded: Contents that went through the network; a renamed photo does not.
        failures: Files that turned out to be unusable in this run.
        unreadable: Folders that could not be listed, with the reason; what the library knows of them stays.
    """

    n_found: int = 0
    n_added: int = 0
    n_changed: int = 0
    n_removed: int = 0
    n_encoded: int = 0
    failures: list[Failure] = field(default_factory=list)
    unreadable: dict[Path, str] = field(default_factory=dict)


def index_folder(
    store: Store,
    folder: Folder,
    encoder: Encoder,
    *,
    second: Rescorer | None = None,
    below: Path | None = None,
    retry: bool = False,
    workers: int = 0,
    on_progress: Progress | None = None,
) -> Indexed:
    """Bring the library up to date with one folder. The caller holds the right to write.

    Args:
        store: Whose fingerprint is the encoder's.
        folder: An absolute path without links in it, and what is left out below it.
        second: The second stage of search, whose vectors of regions the store holds.
        below: The part of it to look at, by default the whole.
        retry: Try again what could not be used, though it has not changed.
        workers: Threads; 0 takes one per core.
        on_progress: Told how many of the files that had to be looked at are done.

    Raises:
        SeesayError: The folder is not there, or it is empty where the library knows photos of it.
    """
    start = below or folder.path
    listing = scan(folder, below)
    known = store.files(start)
    done = Indexed(n_found=len(listing.files))
    done.unreadable = {as_path(path): why for path, why in listing.unreadable.items()}
    _forget_missing(store, start, listing, known, done)
    failed = {failure.file.path for failure in store.failures([start])} if retry else set()
    todo = [file for path, file in listing.files.items() if known.get(path) != file or path in failed]
    if todo:
        _encode_all(store, todo, known, encoder, second, done, workers, on_progress)
    if todo or done.n_removed:
        store.drop_unused()
    return done


def _forget_missing(store: Store, start: Path, listing: Listing, known: dict[bytes, File], done: Indexed) -> None:
    missing = [path for path in known if path not in listing.files and not listing.is_hidden(path)]
    if known and not listing.files and len(missing) == len(known):
        # The place where a disk is mounted is such a folder while the disk is away.
        raise SeesayError(
            f"{start} holds no photo, and the library knows {len(known):,} of it",
            hint=f"if they are gone for good: seesay library forget {start}",
        )
    # Photos that were moved keep their content: it is dropped at the very end, where no path has it.
    store.forget(missing)
    done.n_removed = len(missing)


def _encode_all(
    store: Store,
    todo: list[File],
    known: dict[bytes, File],
    encoder: Encoder,
    second: Rescorer | None,
    done: Indexed,
    workers: int,
    on_progress: Progress | None,
) -> None:
    # Opening pictures needs packages that a library which is up to date can do without.
    from seesay.images.batches import work_in_batches
    from seesay.library.intake import Intake

    total, n_done = len(todo), 0
    if on_progress:
        on_progress(0, total)
    while todo:
        again: list[File] = []
        intake = Intake(encoder, store.digests(), second)
        with (
            encoder.at_work() as prepare,
            second.at_work() if second else nullcontext(),
            closing(work_in_batches(todo, intake, workers, prepare_thread=prepare)) as finished,
        ):
            for work in finished:
                left = store.write(work.batch)
                again += [*work.waiting, *(file for file, _ in left)]
                done.n_encoded += len(work.batch.contents)
                done.failures += work.batch.failures
                for file in {file.path for file, _ in work.batch.photos} - {file.path for file, _ in left}:
                    if file in known:
                        done.n_changed += 1
                    else:
                        done.n_added += 1
                n_done += len(work.batch.photos) + len(work.batch.failures) - len(left)
                if on_progress:
                    on_progress(n_done, total)
        todo = again
