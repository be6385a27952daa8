"""Keeping the library up to date while the page is open, in one thread in the background."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.system.memory import give_back_memory

State = Literal["idle", "looking", "indexing"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What the indexer is at.

    Attributes:
        state: `looking` through folders, `indexing` what is new there, or `idle`.
        n_done: Of the files that have to be looked at in this folder.
        n_runs: How many times it has been through, since the server started.
        problems: What went wrong the last time, in sentences.
    """

    state: State = "idle"
    folder: Path | None = None
    n_done: int = 0
    n_total: int = 0
    n_runs: int = 0
    n_added: int = 0
    problems: tuple[str, ...] = field(default=())


class _StopError(Exception):
    """Ends an index run from inside, where it reports its progress."""


class Indexer:
    """Brings the library's folders up to date when asked, and every so often.

    Args:
        library: Whose folders are meant.
        folders: To begin with, whether or not the library knows them; every other time, those that it knows.
        every: Seconds between two looks at the folders; 0 looks only when asked.
        workers: Threads; 0 takes one per core.
    """

    def __init__(self, library: Library, folders: Sequence[Path] = (), *, every: float = 0, workers: int = 0) -> None:
        self.library = library
        self.progress = Progress()
        self._first = tuple(folders)
        self._every = every
        self._workers = workers
        self._asked = threading.Event()
        self._finished = threading.Condition()
        self._ends = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look, in the background."""
        if self._thread is None:
            self._asked.set()
            self._thread = threading.Thread(target=self._work, name="seesay-indexer", daemon=True)
            self._thread.start()

    def ask(self) -> None:
        """Look again as soon as it can; asking twice is asking once."""
        self._asked.set()

    def wait(self, n_runs: int, timeout: float) -> bool:
        """Wait until it has been through the folders so many times; says whether it has."""
        with self._finished:
            return self._finished.wait_for(lambda: self.progress.n_runs >= n_runs, timeout)

    def close(self) -> None:
        """End after the photos that are being encoded; what is written stays."""
        self._ends = True
        self._asked.set()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _work(self) -> None:
        while True:
            self._asked.wait(self._every or None)
            if self._ends:
                return
            self._asked.clear()
            try:
                self._run()
            except _StopError:
                return
            except Exception as error:  # a thread that ends in silence would leave the page waiting for ever
                logging.getLogger(__name__).exception("indexing has failed")
                self._finish(0, [f"indexing has failed: {error}"])

    def _run(self) -> None:
        first, self._first = self._first, ()
        problems: list[str] = []
        n_added = 0
        known = [folder.path for folder in self.library.folders()]
        for folder in dict.fromkeys([*first, *known]):
            self.progress = replace(self.progress, state="looking", folder=folder, n_done=0, n_total=0)
            try:
                done = self.library.index(folder, workers=self._workers, on_progress=self._on_progress)
                n_added += done.n_added
            except SeesayError as error:  # such as a disk that is away, or another process that is indexing
                problems.append(error.what)
        if n_added:
            give_back_memory()
        self._finish(n_added, problems)

    def _finish(self, n_added: int, problems: Sequence[str]) -> None:
        with self._finished:
            self.progress = Progress(n_runs=self.progress.n_runs + 1, n_added=n_added, problems=tuple(problems))
            self._finished.notify_all()

    def _on_progress(self, done: int, total: int) -> None:
        if self._ends:
            raise _StopError
        self.progress = replace(self.progress, state="indexing", n_done=done, n_total=total)
