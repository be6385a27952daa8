"""The same work on many machines: batches as tasks of a Ray cluster.

Ray schedules, moves data and starts a task again whose worker died. A worker gets ready once, which is where a network
is loaded, and then works on batch after batch. What tasks give comes back to the process that asked for it, which alone
writes: a task that runs twice gives the same thing twice, and the second one finds it written.
"""

import atexit
import itertools
import os
import socket
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seesay.errors import SeesayError
from seesay.system.files import n_cores
from seesay.system.spread import Made, MakeWork, Spread, Thing, spread_here
from seesay.system.version import VERSION

_PATIENCE = 5.0  # seconds without a result after which we look whether the cluster is there
_RETRIES = 5  # deaths of workers that one batch survives
_START = "ray start --head, then the same command goes on where it was"


class ClusterGoneError(SeesayError):
    """The cluster does not answer."""


class Cluster:
    """A Ray cluster that this process has joined; see `join`."""

    def __init__(self, ray: Any, name: str) -> None:
        self._ray = ray
        self._is_gone = False
        self.name = name

    @property
    def n_workers(self) -> int:
        """Tasks that run at once."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def work(self, make: MakeWork[Thing, Made], things: Iterable[Thing]) -> Generator[Made, None, None]:
        """Do work on things, and give what was made of them, first finished first.

        Little is prepared ahead: closing the generator ends it as soon as the tasks that are running are done.

        Raises:
            SeesayError: A task has raised it, or its worker died again and again.
            ClusterGoneError: The cluster does not answer.
        """
        for _, made in self._numbered(make, things):
            yield made

    def map(self, make: MakeWork[Thing, Made], things: Sequence[Thing]) -> list[Made]:
        """What was made of each thing, in the order of the things."""
        return [made for _, made in sorted(self._numbered(make, things), key=lambda numbered: numbered[0])]

    def _numbered(
        self, make: MakeWork[Thing, Made], things: Iterable[Thing]
    ) -> Generator[tuple[int, Made], None, None]:
        ray = self._ray
        with self._errors():
            task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_work_on)
            token, shipped = uuid.uuid4().hex, ray.put(make)
            waiting, at_once = enumerate(things), 2 * self.n_workers
            running: dict[Any, int] = {}
            try:
                while True:
                    for number, thing in itertools.islice(waiting, at_once - len(running)):
                        running[task.remote(VERSION, token, [shipped], thing)] = number
                    if not running:
                        return
                    finished, _ = ray.wait(list(running), num_returns=1, timeout=_PATIENCE)
                    for done in finished:
                        yield running.pop(done), ray.get(done)
                    if not finished:
                        self._require_head()
            finally:
                for reference in running if not self._is_gone else ():
                    ray.cancel(reference)

    def _require_head(self) -> None:
        """Find out by ourselves that the cluster's head is gone: Ray would end this process without a word of ours."""
        try:
            _check_reachable(self._ray.get_runtime_context().gcs_address)
        except OSError as error:
            self._is_gone = True
            raise ClusterGoneError(f"the cluster {self.name} has gone away: {error}", hint=_START) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import ray.exceptions as known

        try:
            yield
        except known.RayTaskError as error:
            if "failed to import on the worker" in str(error):
                raise SeesayError(
                    f"a worker of the cluster {self.name} has no seesay, or another one",
                    hint="pip install seesay, the version of this machine (seesay --version), on all of the others",
                ) from error
            raise (error.cause if isinstance(error.cause, SeesayError) else error) from None
        except (known.WorkerCrashedError, known.OutOfMemoryError) as error:
            raise SeesayError(
                f"a worker of the cluster {self.name} died {_RETRIES + 1} times on the same few images",
                hint="look for out-of-memory in Ray's logs; without --ray the same command goes on where it was",
            ) from error
        except (known.RayError, ConnectionError) as error:
            self._is_gone = True
            first = str(error).strip().partition("\n")[0]
            raise ClusterGoneError(f"the cluster {self.name} does not answer: {first}", hint=_START) from error


@contextmanager
def join(address: str, n_workers: int = 0) -> Iterator[Cluster]:
    """Join a Ray cluster while the block runs.

    Args:
        address: `local` starts one on this machine and ends it afterwards, `auto` joins the one that runs here or that
            `RAY_ADDRESS` names; any other is the address of one.
        n_workers: For `local`, how many; 0 takes one per core.

    Raises:
        SeesayError: Ray is not installed.
        ClusterGoneError: There is no such cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine
    os.environ.setdefault("RAY_worker_niceness", "0")  # workers as quick as this process would be, and not behind all
    try:
        import ray
    except ImportError as error:
        raise SeesayError("a cluster needs more packages", hint="pip install 'seesay[cluster]'") from error
    if ray.is_initialized():
        yield Cluster(ray, address)
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == "local":
            ray.init(address="local", num_cpus=n_workers or n_cores(), include_dashboard=False, **quiet)
        else:
            # Ray itself would wait for minutes.
            _check_reachable(os.environ.get("RAY_ADDRESS", "") if address == "auto" else address)
            ray.init(address=address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        there_is_none = f"there is no Ray cluster at {address}: {first}"
        raise ClusterGoneError(there_is_none, allowed="local, auto or an address", hint=_START) from error
    cluster = Cluster(ray, address)
    try:
        yield cluster
    finally:
        if cluster._is_gone:
            atexit.unregister(ray._private.worker.shutdown)  # it would wait for the cluster to answer
        else:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise OSError where nobody is at home at HOST:PORT; any other address is left to Ray."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


@contextmanager
def spreading(address: str | None) -> Iterator[Spread]:
    """A way to do work while the block runs: on a cluster, or here where none is named.

    Example:
        >>> with spreading(None) as spread:
        ...     list(spread(lambda: abs, [-1, 2]))
        [1, 2]
    """
    if address is None:
        yield spread_here
        return
    with join(address) as cluster:
        yield cluster.map


def check_version(wanted: str, machine: str) -> None:
    """Refuse to work for a seesay of another version: what it would make might be something else.

    Example:
        >>> check_version("0.0.1", "tower")
        Traceback (most recent call last):
        seesay.errors.SeesayError: the worker tower has seesay ..., the command that asks it has seesay 0.0.1
          try: pip install 'seesay==0.0.1' on tower
    """
    if wanted != VERSION:
        raise SeesayError(
            f"the worker {machine} has seesay {VERSION}, the command that asks it has seesay {wanted}",
            hint=f"pip install 'seesay=={wanted}' on {machine}",
        )


_ready: dict[str, Callable[[Any], Any]] = {}


def _work_on(version: str, token: str, shipped: list[Any], thing: Any) -> Any:
    """Runs in a worker, which keeps what it got ready with for as long as it works for the same command."""
    if token not in _ready:
        import ray

        check_version(version, socket.gethostname())
        _ready.clear()
        _ready[token] = ray.get(shipped[0])()
    return _ready[token](thing)
