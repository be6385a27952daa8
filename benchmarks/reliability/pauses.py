"""When this process was stopped, to leave others the machine, and went on: what went by meanwhile took no time."""

import signal
import time


class Pauses:
    """Counts how often this process went on after a stop, and for how long it stood still.

    A stop is not told to a process that is stopped. So somebody has to `tick` now and then: a stop lasted at most from
    the last tick to when the process went on.
    """

    def __init__(self) -> None:
        self.n, self.seconds = 0, 0.0
        self._ticked = time.monotonic()
        signal.signal(signal.SIGCONT, self._go_on)

    def tick(self) -> None:
        self._ticked = time.monotonic()

    def _go_on(self, *_: object) -> None:
        self.n += 1
        self.seconds += time.monotonic() - self._ticked
        self.tick()
