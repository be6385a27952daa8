"""Work on many images in small batches, in threads: decoding and computing overlap without queues between them."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from seesay.system.files import n_cores

BATCH = 4  # small enough for a core's cache: larger batches are slower on a CPU

Item = TypeVar("Item")
Result = TypeVar("Result")


def work_in_batches(
    todo: Sequence[Item],
    work: Callable[[list[Item]], Result],
    workers: int = 0,
    *,
    prepare_thread: Callable[[], None] | None = None,
) -> Generator[Result, None, None]:
    """Apply `work` to small batches in threads, and yield the results as they finish, in any order.

    Few batches are started ahead, so closing the generator ends it as soon as those are done.

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
        running: set[Future[Result]] = {pool.submit(work, batch) for batch in islice(batches, 2 * workers)}
        while running:
            done, running = wait(running, return_when="FIRST_COMPLETED")
            running |= {pool.submit(work, batch) for batch in islice(batches, len(done))}
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
