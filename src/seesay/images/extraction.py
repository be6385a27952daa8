"""From image files to stored features: computed once, resumable, read through memory maps."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.arrays import LOWER
from seesay.images.batches import BATCH, work_in_batches
from seesay.images.feature_store import SHARD as SHARD
from seesay.images.feature_store import FeatureSource
from seesay.images.feature_store import FeatureStore as FeatureStore
from seesay.images.feature_store import FeatureTable as FeatureTable
from seesay.images.feature_store import content_key as content_key
from seesay.images.io import open_image
from seesay.images.store import Array
from seesay.system import remote
from seesay.system.cluster import join
from seesay.system.progress import Progress

if TYPE_CHECKING:
    from seesay.images.features import FeatureSpec


@dataclass(frozen=True)
class Extraction:
    """What an extraction did.

    Attributes:
        keys: The content key of each path, None where the image could not be used.
        failures: Why, by path; an image that lies there twice is named twice.
        n_computed: How many images went through the network in this run.
    """

    keys: dict[Path, str | None]
    failures: dict[Path, str]
    n_computed: int


def extract(
    paths: Sequence[Path],
    store: FeatureStore,
    *,
    workers: int = 0,
    ray: str | None = None,
    on_progress: Progress | None = None,
) -> Extraction:
    """Compute and store the features of every image that the store does not hold.

    Each worker thread decodes a few images and runs the network on them with one thread of its own, so that decoding
    and computing overlap without queues between them. Shards are written as they fill up, also when interrupted: the
    same call goes on where it was.

    Args:
        workers: Threads, or workers of a cluster on this machine; 0 takes one per core.
        ray: The Ray cluster that computes (`seesay.system.cluster.join`); this process alone reads keys and writes.
    """
    keys: dict[Path, str | None] = {}
    failures: dict[Path, str] = {}
    for path in dict.fromkeys(paths):
        try:
            keys[path] = content_key(path)
        except remote.UnreachableError:
            raise  # it says nothing about the image
        except SeesayError as error:
            keys[path], failures[path] = None, error.what
    by_key = {key: path for path, key in keys.items() if key is not None}
    store.derive(list(by_key))
    todo = store.missing(list(by_key))
    total, n_computed = len(by_key), 0
    n_done = total - len(todo)
    if on_progress:
        on_progress(n_done, total)
    if todo:
        waiting: list[tuple[str, dict[str, Array]]] = []
        unusable: dict[str, str] = {}
        try:
            with closing(_compute_all([(key, by_key[key]) for key in todo], store, workers, ray)) as outcomes:
                for key, outcome in outcomes:
                    n_done += 1
                    if isinstance(outcome, SeesayError):
                        unusable[key] = outcome.what
                    else:
                        n_computed += 1
                        waiting.append((key, outcome))
                    if len(waiting) == SHARD:
                        _flush(store, waiting)
                    if on_progress:
                        on_progress(n_done, total)
        finally:
            _flush(store, waiting)
        for path, content in keys.items():
            if content in unusable:
                keys[path], failures[path] = None, unusable[content]
    return Extraction(keys, failures, n_computed)


def _flush(store: FeatureStore, waiting: list[tuple[str, dict[str, Array]]]) -> None:
    if waiting:
        rows = {output: np.stack([features[output] for _, features in waiting]) for output in store.outputs}
        store.write([key for key, _ in waiting], rows)
        waiting.clear()


Outcome = tuple[str, dict[str, Array] | SeesayError]


def _compute_all(
    todo: list[tuple[str, Path]], store: FeatureStore, workers: int, ray: str | None
) -> Generator[Outcome, None, None]:
    make = partial(_ready_to_compute, store.spec, store.schemes)
    if ray is not None:
        make = partial(_ready_to_compute, store.spec, store.schemes, alone=True)
        batches = [todo[start : start + BATCH] for start in range(0, len(todo), BATCH)]
        with join(ray, workers) as cluster, closing(cluster.work(make, batches)) as made:
            for outcomes in made:
                yield from outcomes
        return
    work = make()
    with (
        store.spec.one_thread_each() as alone,
        closing(work_in_batches(todo, work, workers, prepare_thread=alone)) as finished,
    ):
        for outcomes in finished:
            yield from outcomes


def _ready_to_compute(
    spec: FeatureSource, schemes: Sequence[str], *, alone: bool = False
) -> Callable[[list[tuple[str, Path]]], list[Outcome]]:
    """What opens a few images and computes their features; `alone` in a process of its own."""
    compute = spec.ready(schemes, alone=alone)

    def work(batch: list[tuple[str, Path]]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        opened: list[tuple[str, Image.Image]] = []
        for key, path in batch:
            try:
                opened.append((key, open_image(path, at_least=spec.pixels)))
            except remote.UnreachableError:
                raise
            except SeesayError as error:
                outcomes.append((key, error))
        if opened:
            rows = compute([image for _, image in opened])
            outcomes += [(key, {name: row[i] for name, row in rows.items()}) for i, (key, _) in enumerate(opened)]
        return outcomes

    return work


def features_of(
    paths: Sequence[Path],
    spec: FeatureSource,
    outputs: Sequence[str] = ("pooled",),
    *,
    root: Path | None = None,
    on_progress: Progress | None = None,
) -> FeatureTable:
    """The features of all of `paths`, computed where the store does not hold them.

    Raises:
        SeesayError: An image cannot be used; the first few are named.
    """
    if LOWER in outputs:
        from seesay.images.activations import BesideTable, activations_of

        lower = activations_of(paths, cast("FeatureSpec", spec), root=root, on_progress=on_progress)
        others = [output for output in outputs if output != LOWER]
        return BesideTable(features_of(paths, spec, others, root=root), lower) if others else lower
    store = FeatureStore(spec, root=root, outputs=outputs)
    extraction = extract(paths, store, on_progress=on_progress)
    if extraction.failures:
        first = "; ".join(list(extraction.failures.values())[:3])
        raise SeesayError(f"{len(extraction.failures)} of {len(paths)} photos cannot be used: {first}")
    return FeatureTable(store, [key for path in paths if (key := extraction.keys[path])])
