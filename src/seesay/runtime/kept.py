"""Graphs of sentences as ONNX Runtime has optimised them, kept in the cache folder from one process to the next.

Opening such a graph unpacks its weights, folds what is constant and rearranges what products read: many times as long
as an answer takes. The first process that opens one keeps what it has become, a graph and the
weights as they are computed with, in a file that the next process maps into its memory.

A kept graph is opened without rearranging its weights, which pays only where it is asked often: after a few questions
it is opened once more with that, and for several sentences at once with a second thread, too. One sentence is too
little to share: threads wait for each other at every word that a recurrence reads, the longer the more another program
uses the cores. What the ways give differs in the last bit.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from seesay.catalogue.digests import digest_of
from seesay.errors import SeesayError
from seesay.runtime.session import Arrays, Session, open_session
from seesay.system.digests import digest_file
from seesay.system.files import cache_dir, n_cores, prepare_folder
from seesay.system.reading import parse_json, read_text

GRAPHS = "graphs"
"""The folder in the cache."""
OFTEN = 20
"""Questions of one sentence after which rearranged weights have paid for themselves."""
MOST = 8
"""Kept graphs; those that were written first go first."""
_FILES = ("graph.onnx", "weights.bin")
_ABOUT = "about.json"


class AskedOften:
    """A graph that is opened at once, and again for many questions."""

    def __init__(self, first: Session, again: Callable[[int], Session]) -> None:
        self.inputs, self.outputs, self.path = first.inputs, first.outputs, first.path
        self._session, self._again = first, again
        self._questions, self._threads, self._lock = count(1), 0, Lock()

    def __call__(self, arrays: Arrays) -> list[NDArray[Any]]:
        """What the graph gives, in the order of its outputs (`Session`)."""
        if any(len(rows) > 1 for rows in arrays.values()):
            self._open_again(min(2, n_cores()))
        elif not self._threads and next(self._questions) > OFTEN:
            self._open_again(1)
        return self._session(arrays)

    def _open_again(self, threads: int) -> None:
        """With rearranged weights and so many threads, unless it is open so."""
        if self._threads >= threads:
            return
        with self._lock:
            if self._threads < threads:
                with suppress(SeesayError):  # another process has removed what was kept: this one goes on with it
                    self._session = self._again(threads)
                self._threads = threads


def find_kept(sources: Sequence[str]) -> AskedOften | None:
    """A graph that was kept, or None.

    Args:
        sources: Digests of everything that it was made of.
    """
    folder = _folder(sources)
    try:
        about = parse_json(read_text(folder / _ABOUT))
        is_whole = all(digest_of(folder / name, (folder / name).stat()) == about[name] for name in _FILES)
        return _open(folder / _FILES[0], optimise=False) if is_whole else None
    except (OSError, ValueError, TypeError, KeyError, SeesayError):
        return None  # there is the graph that it was made of


def keep_graph(path: Path, sources: Sequence[str], shared: Arrays) -> AskedOften:
    """Keep a graph that was checked, and open it; one that cannot be kept is opened as it is.

    Args:
        path: Of the graph; its weights lie beside it.
        sources: Digests of everything that it is made of.
        shared: Initialisers that lie elsewhere.

    Raises:
        SeesayError: ONNX Runtime does not open it.
    """
    with suppress(OSError, SeesayError):
        _write(path, _folder(sources), shared)
    return find_kept(sources) or _open(path, shared)


def _folder(sources: Sequence[str]) -> Path:
    import onnxruntime

    key = hashlib.sha256(" ".join([onnxruntime.__version__, *sources]).encode()).hexdigest()
    return cache_dir() / GRAPHS / key[:32]


def _open(path: Path, shared: Arrays | None = None, *, optimise: bool = True) -> AskedOften:
    first = open_session(path, 1, shared, optimise=optimise, rearrange=False)
    return AskedOften(first, lambda threads: open_session(path, threads, shared, optimise=optimise))


def _write(path: Path, folder: Path, shared: Arrays) -> None:
    """Let ONNX Runtime write what it makes of a graph; readers see all of it or nothing."""
    with prepare_folder(folder) as scratch:
        made = scratch / folder.name
        made.mkdir()
        open_session(path, 1, shared, rearrange=False, keep=(made / _FILES[0], _FILES[1]))
        about = {name: digest_file(made / name) for name in _FILES}
        (made / _ABOUT).write_text(json.dumps(about))
        shutil.rmtree(folder, ignore_errors=True)  # something damaged
        made.rename(folder)
    _remove_first(folder.parent)


def _remove_first(place: Path) -> None:
    """Remove those that were written first, and with them what writers of other graphs have left behind."""
    kept = sorted(place.iterdir(), key=lambda folder: folder.stat().st_mtime)
    for folder in kept[:-MOST]:
        shutil.rmtree(folder, ignore_errors=True)
