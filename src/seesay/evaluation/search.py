"""The ranking that `seesay search` does: a library of a split's photos, with every sentence of theirs as a query.

Other tasks rank with one model. Search has several stages, corrections, tags and copies, of which each changes the
order of photos; what a person gets is measured here, through the library itself.
"""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.evaluation.protocols import Protocol, find_protocol, require_images, take_measured, timed
from seesay.library import Library
from seesay.system import remote
from seesay.system.progress import Progress

TOP = 100
"""Results of a query that are looked at; a photo that is not among them counts as not found."""
RECALLS = (1, 5, 10)


@dataclass(frozen=True)
class SearchEvaluation:
    """What search found on a split under a protocol.

    Attributes:
        stages: The weights of each stage, the first one first.
        ranks: (n_queries,) 0-based rank of the photo that the query was written for; `TOP` where it was not found.
        milliseconds: (n_queries,) how long each query took.
        n_images: Photos of the library.
        n_sentences: Queries.
        seconds: How long indexing and all queries took.
    """

    protocol: Protocol
    seed: int | None
    stages: tuple[str, ...]
    ranks: NDArray[np.int64]
    milliseconds: NDArray[np.float64]
    n_images: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        return {
            "search": {
                **summarise(self.ranks),
                "milliseconds": round(float(np.median(self.milliseconds)), 2),
                "stages": list(self.stages),
            }
        }


def summarise(ranks: NDArray[np.int64]) -> dict[str, float | None]:
    """Recall in percent, and the median rank from 1, which is None where it lies beyond `TOP`.

    Example:
        >>> summarise(np.array([0, 0, 3, TOP]))
        {'r1': 50.0, 'r5': 75.0, 'r10': 75.0, 'median': 2.5}
        >>> summarise(np.array([0, TOP, TOP]))["median"] is None
        True
    """
    recalls: dict[str, float | None] = {f"r{n}": round(100 * float((ranks < n).mean()), 4) for n in RECALLS}
    middle = np.sort(ranks)[[(len(ranks) - 1) // 2, len(ranks) // 2]]
    return {**recalls, "median": None if middle[1] >= TOP else float(middle.mean()) + 1}


def evaluate_search(
    collection: Collection,
    protocol: str = "full",
    *,
    model: str | Path | None = None,
    seed: int | None = None,
    on_indexed: Progress | None = None,
    on_query: Progress | None = None,
) -> SearchEvaluation:
    """Index the photos of a split in a library of their own, and search it with each of their sentences.

    A photo that is shown as a copy of another one is found.

    Args:
        collection: The images to measure on, one split of a collection.
        protocol: One of `seesay.evaluation.protocols.PROTOCOLS` with one fold.
        model: Weights of the first stage; else those that a library has by default.
        seed: Draws the images of a protocol at random; None takes them in their order.
        on_indexed: Called with the photos that are indexed, and all.
        on_query: Called with the queries that are done, and all.

    Raises:
        SeesayError: A photo is missing or cannot be indexed, or the protocol has several folds.
    """
    wanted = find_protocol(protocol)
    if wanted.n_folds > 1:
        raise SeesayError(f"protocol {wanted.name} has {wanted.n_folds} folds", allowed="--protocol full, 1k or 5k")
    require_images(collection)
    measured = take_measured(collection, wanted, seed)
    seconds: dict[str, float] = {}
    with TemporaryDirectory() as temporary, Library(Path(temporary) / "library", model=model) as library:
        photos = Path(temporary) / "photos"
        _link(measured, photos)
        with timed("indexing", seconds):
            library.index(photos, on_progress=on_indexed)
        if failures := library.failures():
            raise SeesayError(
                f"{len(failures):,} of {len(measured):,} photos of {measured.name} cannot be indexed: "
                f"{failures[0].reason}",
                hint=f"seesay data check {measured.root}",
            )
        with timed("queries", seconds):
            ranks, milliseconds = _search_all(library, measured, on_query)
        stages = library.encoder.fingerprint.model, *library.status().stages.values()
    return SearchEvaluation(
        wanted, seed, stages, ranks, milliseconds, len(measured), len(measured.sentences), seconds
    )  # fmt: skip


def _link(collection: Collection, folder: Path) -> None:
    """Put the photos of a collection into a folder, each under its number: names may occur in several folders."""
    folder.mkdir()
    for number, path in enumerate(collection.images):
        place = folder / f"{number}{path.suffix}"
        if remote.is_remote(path):
            place.write_bytes(remote.read(path))
            continue
        try:
            place.symlink_to(path.resolve())
        except OSError:  # a system, or a file system, without links
            shutil.copyfile(path, place)


def _search_all(
    library: Library, collection: Collection, on_query: Progress | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    queries = [(number, text) for number, item in enumerate(collection.items) for text in item.sentences]
    ranks, milliseconds = np.full(len(queries), TOP), np.zeros(len(queries))
    for place, (number, text) in enumerate(queries):
        start = time.perf_counter()
        results = library.search(text, top=TOP)
        milliseconds[place] = 1000 * (time.perf_counter() - start)
        ranks[place] = rank_of(str(number), [[photo.path.stem for photo in (r.photo, *r.copies)] for r in results])
        if on_query:
            on_query(place + 1, len(queries))
    return ranks, milliseconds


def rank_of(name: str, results: Sequence[Sequence[str]]) -> int:
    """Where a name stands among results, each of which has several; `TOP` where it does not.

    Example:
        >>> rank_of("7", [["3"], ["12", "7"]]), rank_of("7", [["3"]]) == TOP
        (1, True)
    """
    return next((rank for rank, names in enumerate(results) if name in names), TOP)
