"""Work on many images, a few at a time, in threads: decoding and computing overlap without queues between them."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from seesay.system.files import n_cores

BATCH = 4  # small enough for a core's cache: larger batches are slower on a CPU

Thing = TypeVar("Thing")
Made = TypeVar("Made")


def work_in_batches(
    todo: Sequence[Thing],
    work: Callable[[list[Thing]], Made],
    workers: int = 0,
    *,
    prepare_thread: Callable[[], None] | None = None,
) -> Generator[Made, None, None]:
    """Do `work` on a few things at a time, in threads, and give what was made of them, first finished first.

    Little is prepared ahead: closing the generator ends it as soon as the batches that are being worked on are done.

    Args:
        workers: Threads; 0 takes one per core.
        prepare_thread: Called once in each thread before its work.

    Example:
        >>> sorted(work_in_batches(range(10), sum, workers=2))
        [6, 17, 22]
    """
    workers = workers or n_cores()
    batches = iter([list(todo[start : start + BATCH]) for start in range(0, len(todo), BATCH)])
    pool = ThreadPoolExecutor(workers, initializer=prepare_thread)
    try:
        running: set[Future[Made]] = {pool.submit(work, batch) for batch in islice(batches, 2 * workers)}
        while running:
            done, running = wait(running, return_when="FIRST_COMPLETED")
            running |= {pool.submit(work, batch) for batch in islice(batches, len(done))}
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
