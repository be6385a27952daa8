"""Working on what waits in the queue of a library that several indexers fill (`seesay.library.stores.store`).

The threads of an indexer take files from the queue and write what they made of them. So do the workers of a Ray
cluster, each over a connection of its own: no photo and no vector passes through the process that started them.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from seesay.images.batches import BATCH
from seesay.library.indexing.encoding import PhotoEncoder, ViewEncoder
from seesay.library.indexing.intake import Intake, Work, Written, make_intake
from seesay.library.stores.postgres.server import ServerGoneError
from seesay.library.stores.store import SharedStore
from seesay.system.files import n_cores

if TYPE_CHECKING:
    from seesay.system.cluster import Cluster

PATIENCE = 60.0
"""Seconds that indexers wait for a server that is being restarted."""
_PAUSE = 0.2  # seconds between two looks at what others have at hand
_TURN = 2.0  # seconds after which a worker of a cluster tells what it has done: thousands of them tell one process


def work_on_claims(
    store: SharedStore,
    folder: Path,
    intake: Intake,
    workers: int,
    prepare_thread: Callable[[], None],
) -> Generator[Written, None, None]:
    """Work in threads on what waits below a folder, until nothing does, and give what was written.

    Files that others have at hand are waited for: should they fail, somebody has to be there.
    """
    workers = workers or n_cores()
    finished: SimpleQueue[Written | None] = SimpleQueue()
    stop = threading.Event()

    def work_until_done() -> None:
        prepare_thread()
        last_answer = time.monotonic()
        try:
            while not stop.is_set():
                try:
                    busy = _work_once(store, folder, intake, finished.put)
                    last_answer = time.monotonic()
                except ServerGoneError:
                    if time.monotonic() - last_answer > PATIENCE:
                        raise
                    busy = False
                if busy is None:
                    return
                if not busy:
                    stop.wait(_PAUSE)
        except BaseException:
            stop.set()  # the others stop as well, after the files that they have at hand
            raise
        finally:
            finished.put(None)

    pool = ThreadPoolExecutor(workers)
    try:
        running = [pool.submit(work_until_done) for _ in range(workers)]
        n_running = workers
        while n_running:
            written = finished.get()
            if written is None:
                n_running -= 1
            else:
                yield written
        for future in running:
            future.result()
    finally:
        stop.set()
        pool.shutdown()


def _work_once(
    store: SharedStore,
    folder: Path,
    intake: Intake,
    tell: Callable[[Written], None],
) -> bool | None:
    """Work on one claim: whether that led to anything; None where nothing is left to do."""
    work = Work()
    try:
        with store.claim(BATCH, folder) as claim:
            if claim.files:
                work = intake(claim.files)
                left = claim.write(work.batch, work.waiting)
    finally:
        intake.give_back(content.digest for content in work.batch.contents)
    if not claim.files:
        return False if store.waiting(folder, at_most=1) else None
    tell(Written.of(work.batch, left))
    return bool(work.batch.photos or work.batch.failures)


def claim_on_cluster(
    cluster: "Cluster", store: SharedStore, folder: Path, encoder: PhotoEncoder, stages: Sequence[ViewEncoder]
) -> Generator[Written, None, None]:
    """Let the workers of a cluster do the same, until nothing waits below a folder."""
    make = partial(Claimer, store.opener(), folder, encoder, stages)
    is_done = False
    # No further turn is asked for then; those that are running still tell what they have written.
    turns = takewhile(lambda _: not is_done, count())
    with closing(cluster.work(make, turns)) as finished:
        for written, nothing_left in finished:
            is_done |= nothing_left
            yield from written


class Claimer:
    """A worker of a cluster, with a connection and networks of its own. Each call is a turn of a few seconds."""

    def __init__(
        self,
        open_store: Callable[[], SharedStore],
        folder: Path,
        encoder: PhotoEncoder,
        stages: Sequence[ViewEncoder],
    ) -> None:
        self.store = open_store()
        self.folder = folder
        self.intake = make_intake(encoder, self.store.digests(), stages)

    def __call__(self, turn: int) -> tuple[list[Written], bool]:
        """What was written, and whether nothing is left to do."""
        written: list[Written] = []
        start = last_answer = time.monotonic()
        while time.monotonic() - start < _TURN:
            try:
                busy = _work_once(self.store, self.folder, self.intake, written.append)
                last_answer = time.monotonic()
            except ServerGoneError:
                if time.monotonic() - last_answer > PATIENCE:
                    raise
                start, busy = time.monotonic(), False  # the turn lasts until the server is back, or too long away
            if busy is None:
                return written, True
            if not busy:
                time.sleep(_PAUSE)
        return written, False
