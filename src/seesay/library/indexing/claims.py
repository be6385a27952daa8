"""Working on what waits in the queue of a library that several indexers fill (`seesay.library.stores.store`)."""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from seesay.images.batches import BATCH
from seesay.library.indexing.intake import Intake, Work
from seesay.library.stores.server import ServerGoneError
from seesay.library.stores.store import SharedStore
from seesay.library.types import File
from seesay.system.files import n_cores

PATIENCE = 60.0
"""Seconds that indexers wait for a server that is being restarted."""
_PAUSE = 0.2  # seconds between two looks at what others have at hand

Written = tuple[Work, list[tuple[File, str]]]
"""What was made of some files, and those that were not written because their content was dropped meanwhile."""


def work_on_claims(
    store: SharedStore,
    folder: Path,
    intake: Intake,
    workers: int,
    prepare_thread: Callable[[], None],
) -> Generator[Written, None, None]:
    """Work in threads on what waits below a folder, until nothing does, and give what was written and what was left.

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
    tell((work, left))
    return bool(work.batch.photos or work.batch.failures)
