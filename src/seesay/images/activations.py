"""The lower half of a network, run once: its activations on disk, from which the upper half learns.

The first layers of an ImageNet network see edges and textures, which language does not change. So they stay as they
are, and what they make of a photo is computed once: for EfficientNet-Lite2 at 260 pixels 17×17×120 half floats, 70 KB.
Everything after them is small enough to learn on two cores.

Kept in a `RowStore` under the digest of the image's bytes, in a folder that names the network, its size and the
digest of its weights. A row that is damaged is computed again; activations of another network lie in another folder.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.accelerated import Normalised, accelerate
from seesay.images.arrays import ImageFeatures
from seesay.images.backbones import Backbone
from seesay.images.batches import work_in_batches
from seesay.images.feature_store import SHARD, FeatureTable, content_key
from seesay.images.features import Features, FeatureSpec, preprocess
from seesay.images.halves import split_network
from seesay.images.io import open_image
from seesay.images.store import Array, RowStore
from seesay.system.files import cache_dir
from seesay.system.progress import Progress

Lower = Callable[[NDArray[np.uint8]], Array]
"""From pixels (n, H, W, 3) uint8 to activations (n, h, w, C) float16."""


class _PixelsToActivations(Normalised):
    """The lower half, with the layout of the store behind it."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.lower, _ = split_network(backbone)

    def forward(self, pixels: Tensor) -> Tensor:
        kept: Tensor = self.lower(self.normalise(pixels)).permute(0, 2, 3, 1)
        return kept.half()


def load_lower(spec: FeatureSpec) -> Lower:
    """The lower half, ready to run."""
    run = accelerate(_PixelsToActivations(spec.load_backbone()), spec.size, ("activations",))
    return lambda pixels: run(pixels)[0]


class ActivationStore:
    """The activations of one network's lower half on disk.

    Args:
        root: By default in the cache, beside the features.
    """

    def __init__(self, spec: FeatureSpec, *, root: Path | None = None) -> None:
        if spec.crop != "squash":
            raise SeesayError(f"activations are kept of whole images, not of crop {spec.crop!r}", allowed="squash")
        self.spec = spec
        self.folder = (root or cache_dir() / "features") / spec.name / "lower"
        self._rows = RowStore(self.folder)

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Those of `keys` that are absent or damaged."""
        return self._rows.missing(keys)

    def read(self, keys: Sequence[str]) -> Tensor:
        """Activations (n, h, w, C) float16, in the order asked for."""
        return torch.from_numpy(self._rows.read(keys))

    def refresh(self) -> None:
        """Take in what other processes have written since."""
        self._rows.refresh()

    def fill(self, paths: Sequence[Path], *, workers: int = 0, on_progress: Progress | None = None) -> dict[Path, str]:
        """Compute what is missing, in the order of `paths`; killed at any time, the same call goes on where it was.

        Args:
            workers: Threads; 0 takes one per core.

        Returns:
            The content key of each path.

        Raises:
            SeesayError: Images cannot be used, after all others are done; or the disk has too little room, before
                any work.
        """
        keys = {path: content_key(path) for path in dict.fromkeys(paths)}
        path_of = {key: path for path, key in keys.items()}
        todo = self.missing(list(path_of))
        if todo:
            lower = load_lower(self.spec)
            size = self.spec.size
            row = lower(np.zeros((1, size, size, 3), np.uint8))
            _require_room(self.folder, len(todo) * row.nbytes)
            waiting: list[tuple[str, Array]] = []
            failures: list[str] = []
            n_done = len(path_of) - len(todo)
            work = partial(_activate, lower, size)
            alone = partial(torch.set_num_threads, 1)
            try:
                batches = work_in_batches([(key, path_of[key]) for key in todo], work, workers, prepare_thread=alone)
                with closing(batches) as finished:
                    for rows in finished:
                        waiting += [(key, row) for key, row in rows if not isinstance(row, SeesayError)]
                        failures += [row.what for _, row in rows if isinstance(row, SeesayError)]
                        n_done += len(rows)
                        if len(waiting) >= SHARD:
                            self._flush(waiting)
                        if on_progress:
                            on_progress(n_done, len(path_of))
            finally:
                self._flush(waiting)
            if failures:
                first = "; ".join(failures[:3])
                raise SeesayError(f"{len(failures)} of {len(path_of)} photos cannot be used: {first}")
        return keys

    def _flush(self, waiting: list[tuple[str, Array]]) -> None:
        if waiting:
            self._rows.write([key for key, _ in waiting], np.stack([row for _, row in waiting]))
            waiting.clear()


def _activate(lower: Lower, size: int, batch: list[tuple[str, Path]]) -> list[tuple[str, Array | SeesayError]]:
    made: list[tuple[str, Array | SeesayError]] = []
    opened: list[tuple[str, NDArray[np.uint8]]] = []
    for key, path in batch:
        try:
            opened.append((key, preprocess(open_image(path, at_least=size), size, "squash")))
        except SeesayError as error:
            made.append((key, error))
    if opened:
        rows = lower(np.concatenate([pixels for _, pixels in opened]))
        made += [(key, row) for (key, _), row in zip(opened, rows, strict=True)]
    return made


def _require_room(folder: Path, n_bytes: int) -> None:
    """Refuse to begin what the disk cannot hold."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    if n_bytes > free:
        raise SeesayError(
            f"activations need {n_bytes / 2**30:.1f} GB in {folder}, and {free / 2**30:.1f} GB are free",
            hint="set SEESAY_CACHE to a larger disk, or learn from fewer photos",
        )


class ActivationTable(FeatureTable):
    """The stored activations of a list of images, read row by row."""

    def __init__(self, store: ActivationStore, keys: Sequence[str]) -> None:
        self.activations = store
        self.keys = list(keys)

    def rows(self, indices: Sequence[int]) -> Features:
        return Features.of_lower(self.activations.read([self.keys[index] for index in indices]))

    def arrays(self, indices: Sequence[int]) -> ImageFeatures:
        return self.rows(indices).to_arrays()

    def part(self, start: int, end: int) -> "ActivationTable":
        return ActivationTable(self.activations, self.keys[start:end])


class BesideTable(FeatureTable):
    """The features of a list of images with the activations of the lower half beside them."""

    def __init__(self, features: FeatureTable, lower: ActivationTable) -> None:
        self.features, self.lower = features, lower
        self.keys = features.keys

    def rows(self, indices: Sequence[int]) -> Features:
        return replace(self.features.rows(indices), lower=self.lower.rows(indices).lower)

    def arrays(self, indices: Sequence[int]) -> ImageFeatures:
        return self.rows(indices).to_arrays()

    def part(self, start: int, end: int) -> "BesideTable":
        return BesideTable(self.features.part(start, end), self.lower.part(start, end))


def activations_of(
    paths: Sequence[Path], spec: FeatureSpec, *, root: Path | None = None, on_progress: Progress | None = None
) -> ActivationTable:
    """The activations of all of `paths`, computed where the store does not hold them."""
    store = ActivationStore(spec, root=root)
    keys = store.fill(paths, on_progress=on_progress)
    return ActivationTable(store, [keys[path] for path in paths])
