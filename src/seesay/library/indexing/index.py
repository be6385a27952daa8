"""Bringing a library up to date with a folder: what is new is encoded once, what is gone disappears.

A file whose size and time are known is left alone. Any other is read, and where its content is known under another
path, nothing is computed. The rest is decoded once, for the thumbnail and for the network. Every batch of a few photos
is one transaction: whatever ends the process, what was written before stays and is not computed again.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from seesay.errors import SeesayError
from seesay.library.indexing.encoding import PhotoEncoder, ViewEncoder
from seesay.library.indexing.scan import Listing, scan
from seesay.library.stores.store import Store
from seesay.library.types import Failure, File, Folder, as_path
from seesay.system.progress import Progress

if TYPE_CHECKING:
    from seesay.library.indexing.intake import Written
    from seesay.system.cluster import Cluster


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
    encoder: PhotoEncoder,
    *,
    stages: Sequence[ViewEncoder] = (),
    below: Path | None = None,
    retry: bool = False,
    workers: int = 0,
    ray: str | None = None,
    on_progress: Progress | None = None,
) -> Indexed:
    """Bring the library up to date with one folder. The caller holds the right to write.

    Args:
        store: Whose fingerprint is the encoder's.
        folder: An absolute path without links in it, and what is left out below it.
        stages: The later stages of search whose views the store holds.
        below: The part of it to look at, by default the whole.
        retry: Try again what could not be used, though it has not changed.
        workers: Threads, or workers of a cluster on this machine; 0 takes one per core.
        ray: The Ray cluster that encodes (`seesay.system.cluster.join`); this process alone scans and writes.
        on_progress: Told how many of the files that had to be looked at are done.

    Raises:
        SeesayError: The folder is not there, it is empty where the library knows photos of it, or the store is too
            small for the vectors.
    """
    start = below or folder.path
    shared = store.shared
    waiting = shared.waiting(start) if shared is not None else []
    listing = scan(folder, below)
    known = store.files(start)
    done = Indexed(n_found=len(listing.files))
    done.unreadable = {as_path(path): why for path, why in listing.unreadable.items()}
    _forget_missing(store, start, listing, known, done)
    # What an indexer that was stopped has left in the queue may be gone by now, or left out.
    store.forget([path for path in waiting if path not in listing.files and not listing.is_hidden(path)])
    failed = {failure.file.path for failure in store.failures([start])} if retry else set()
    todo = [file for path, file in listing.files.items() if known.get(path) != file or path in failed]
    if todo or waiting:
        store.require_room(len(todo))
        _encode_all(store, start, todo, known, encoder, stages, done, workers, ray, on_progress)
    if todo or done.n_removed:
        store.drop_unused()
    if shared is not None:
        shared.finalize()
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
    start: Path,
    todo: list[File],
    known: dict[bytes, File],
    encoder: PhotoEncoder,
    stages: Sequence[ViewEncoder],
    done: Indexed,
    workers: int,
    ray: str | None,
    on_progress: Progress | None,
) -> None:
    n_done = 0
    if on_progress:
        on_progress(0, len(todo))
    with ExitStack() as stack:
        if ray is not None:
            from seesay.system.cluster import join

            cluster = stack.enter_context(join(ray, workers))
            written = stack.enter_context(closing(_write_from(cluster, store, start, todo, encoder, stages)))
        else:
            prepare = stack.enter_context(encoder.inference_session())
            for stage in stages:
                stack.enter_context(stage.inference_session())
            written = stack.enter_context(closing(_write_all(store, start, todo, encoder, stages, workers, prepare)))
        for batch in written:
            done.n_encoded += batch.n_encoded
            done.failures += batch.failures
            n_known = sum(path in known for path in batch.paths)
            done.n_changed += n_known
            done.n_added += len(batch.paths) - n_known
            n_done += len(batch.paths) + len(batch.failures)
            if on_progress:
                on_progress(min(n_done, len(todo)), len(todo))


def _write_all(
    store: Store,
    start: Path,
    todo: list[File],
    encoder: PhotoEncoder,
    stages: Sequence[ViewEncoder],
    workers: int,
    prepare: Callable[[], None],
) -> "Generator[Written, None, None]":
    """Write batch after batch, and give what was written."""
    # Opening photos needs packages that a library which is up to date can do without.
    from seesay.images.batches import work_in_batches
    from seesay.library.indexing.intake import Intake, Written

    if (shared := store.shared) is not None:
        from seesay.library.indexing.claims import work_on_claims

        shared.enqueue(todo)
        yield from work_on_claims(shared, start, Intake(encoder, store.digests(), stages), workers, prepare)
        return
    while todo:
        again: list[File] = []
        intake = Intake(encoder, store.digests(), stages)
        with closing(work_in_batches(todo, intake, workers, prepare_thread=prepare)) as finished:
            for work in finished:
                left = store.write(work.batch)
                again += [*work.waiting, *(file for file, _ in left)]
                yield Written.of(work.batch, left)
        todo = again


def _write_from(
    cluster: "Cluster",
    store: Store,
    start: Path,
    todo: list[File],
    encoder: PhotoEncoder,
    stages: Sequence[ViewEncoder],
) -> "Generator[Written, None, None]":
    """Write what the workers of a cluster make, or let them write it where the store is one that they can reach."""
    from seesay.images.batches import BATCH
    from seesay.library.indexing.intake import Written, make_intake

    if (shared := store.shared) is not None:
        from seesay.library.indexing.claims import claim_on_cluster

        shared.enqueue(todo)
        yield from claim_on_cluster(cluster, shared, start, encoder, stages)
        return
    while todo:
        again: list[File] = []
        batches = [todo[first : first + BATCH] for first in range(0, len(todo), BATCH)]
        make = partial(make_intake, encoder, frozenset(store.digests()), stages)
        with closing(cluster.work(make, batches)) as finished:
            for work in finished:
                left = store.write(work.batch)
                again += [*work.waiting, *(file for file, _ in left)]
                yield Written.of(work.batch, left)
        todo = again
