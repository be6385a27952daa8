"""Work that a server does for its visitors, so many things at a time and no more.

Each kind of work has a lane of its own with threads of its own: an explanation that takes its time holds up other
explanations and never a search. What would have to wait behind too many others is refused at once.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

from seesay.errors import SeesayError
from seesay.system.memory import give_back_memory

P = ParamSpec("P")
Made = TypeVar("Made")


class BusyError(SeesayError):
    """Too many are waiting already."""


class Lane:
    """Threads that stay, so that each keeps its connection to the library.

    Args:
        name: For the error, and the threads.
        workers: Things done at a time.
        waiting: Things that may wait for their turn.
        tidies_after: Things after which memory that they have freed is given back to the system; 0 never.

    Example:
        >>> asyncio.run(Lane("sums", workers=1, waiting=4).run(sum, [1, 2, 3]))
        6
    """

    def __init__(self, name: str, *, workers: int, waiting: int, tidies_after: int = 0) -> None:
        self.name = name
        self.most = workers + waiting
        self.n_inside = self.n_done = 0
        self.tidies_after = tidies_after
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=f"seesay-{name}")

    async def run(self, work: Callable[P, Made], *args: P.args, **kwargs: P.kwargs) -> Made:
        """Do the work in one of the lane's threads.

        Raises:
            BusyError: As many as may wait are waiting.
        """
        if self.n_inside >= self.most:
            raise BusyError(f"too many requests for {self.name} at once", hint="try again in a moment")
        self.n_inside += 1  # one event loop, one thread: nobody counts in between
        future = asyncio.get_running_loop().run_in_executor(self._pool, lambda: work(*args, **kwargs))
        # Counted until the thread is done with it: a visitor who has left does not make it faster.
        future.add_done_callback(self._leave)
        return await asyncio.shield(future)

    def _leave(self, _: object) -> None:
        self.n_inside -= 1
        self.n_done += 1
        if self.tidies_after and self.n_done % self.tidies_after == 0:
            with suppress(RuntimeError):  # the lane is closed
                self._pool.submit(give_back_memory)

    def close(self) -> None:
        """Let what is being done be finished, and nothing else."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Amount:
    """How much of something there is at a time, all visitors together; what would be too much is refused.

    Example:
        >>> bytes_at_once = Amount("photos", 100)
        >>> bytes_at_once.add(60)
        >>> bytes_at_once.add(60)
        Traceback (most recent call last):
        seesay.web.lanes.BusyError: too many photos at once
          try: again in a moment
    """

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most, self.now = name, most, 0
        self._lock = threading.Lock()  # what is counted in by the event loop is counted out by the thread that used it

    def add(self, amount: int) -> None:
        """Count something in.

        Raises:
            BusyError: There is no room for it.
        """
        with self._lock:
            if self.now + amount > self.most:
                raise BusyError(f"too many {self.name} at once", hint="again in a moment")
            self.now += amount

    def remove(self, amount: int) -> None:
        with self._lock:
            self.now -= amount
