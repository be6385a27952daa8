"""Features on disk, under the digest of their image's bytes, and the features of a list of images."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from PIL import Image

from seesay.errors import SeesayError
from seesay.images.arrays import OUTPUTS, ImageFeatures, check_outputs, pool_map
from seesay.images.store import Array, RowStore
from seesay.system import remote
from seesay.system.files import cache_dir, features_place
from seesay.system.reading import PHOTO, open_regular

if TYPE_CHECKING:
    from seesay.images.features import Features

SHARD = 256


class FeatureSource(Protocol):
    """What computes features: a network in torch (`seesay.images.features.FeatureSpec`), or its graph."""

    @property
    def name(self) -> str:
        """A folder name that differs wherever the numbers would."""

    @property
    def size(self) -> int:
        """Side of the square that the network is shown."""

    @property
    def crop(self) -> str:
        """Which views of an image there are (`seesay.images.views.CROPS`)."""

    @property
    def pixels(self) -> int:
        """The shorter side below which images must not be decoded."""

    def ready(
        self, schemes: Sequence[str] = (), *, alone: bool = False
    ) -> Callable[[Sequence[Image.Image]], dict[str, Array]]:
        """Load the network, and give what computes the features of a few images; `alone` in a process of its own."""

    def one_thread_each(self) -> AbstractContextManager[Callable[[], None]]:
        """Gives what each of several threads has to call before it computes."""


def content_key(path: Path) -> str:
    """The digest of a file's bytes: the same image under another name has the same features."""
    if remote.is_remote(path):
        return hashlib.sha256(remote.read(path)).hexdigest()[:32]
    try:
        with open_regular(path, PHOTO) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error


class FeatureStore:
    """The features of one specification on disk: one `RowStore` per output.

    Args:
        root: By default where `SEESAY_FEATURES` says, else the cache. Features in object storage have a copy there.
        must_keep: Whether what cannot be written is an error (`seesay.images.store.RowStore`).
    """

    def __init__(
        self,
        spec: FeatureSource,
        *,
        root: Path | None = None,
        outputs: Sequence[str] = ("pooled",),
        must_keep: bool = False,
    ) -> None:
        check_outputs(outputs, spec.crop)
        self.spec = spec
        self.must_keep = must_keep
        self.outputs = tuple(outputs)
        self.schemes = tuple(output for output in outputs if output not in OUTPUTS)
        self.shared: Path | None = None
        if root is None:
            chosen = features_place()
            root = cache_dir() / "features" if chosen is None or remote.is_remote(chosen) else chosen
            self.shared = chosen / spec.name if chosen and remote.is_remote(chosen) else None
        self.folder = root / spec.name
        self._stores = {output: self._open(output) for output in outputs}

    def _open(self, output: str) -> RowStore:
        shared = self.shared / output if self.shared else None
        return RowStore(self.folder / output, shared=shared, must_keep=self.must_keep)

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Those of `keys` for which any output is absent or damaged."""
        absent = {key for store in self._stores.values() for key in store.missing(keys)}
        return [key for key in dict.fromkeys(keys) if key in absent]

    def write(self, keys: Sequence[str], rows: dict[str, Array]) -> None:
        for output, store in self._stores.items():
            store.write(keys, rows[output])

    def derive(self, keys: Sequence[str]) -> None:
        """Take the means over regions from stored maps, wherever there are some: the network is not needed for them."""
        for scheme in self.schemes:
            absent = self._stores[scheme].missing(keys)
            if not absent:
                continue
            maps = self._open("map")
            without_map = set(maps.missing(absent))
            ready = [key for key in absent if key not in without_map]
            for start in range(0, len(ready), SHARD):
                some = ready[start : start + SHARD]
                self._stores[scheme].write(some, pool_map(maps.read(some), scheme))

    def read(self, output: str, keys: Sequence[str]) -> Array:
        return self._stores[output].read(keys)


class FeatureTable:
    """The stored features of a list of images, read row by row."""

    def __init__(self, store: FeatureStore, keys: Sequence[str]) -> None:
        self.store = store
        self.keys = list(keys)
        # One vector an image is small and asked for in every batch; the rest stays on disk, under the system's cache.
        self._pooled = store.read("pooled", self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, start: int, end: int) -> "FeatureTable":
        """The table of some images that follow each other."""
        return FeatureTable(self.store, self.keys[start:end])

    def rows(self, indices: Sequence[int]) -> "Features":
        """The features of some of the images, in the order asked for, as torch takes them."""
        from seesay.images.features import Features

        return Features.of(self._read(indices))

    def arrays(self, indices: Sequence[int]) -> ImageFeatures:
        """The same as plain arrays."""
        return ImageFeatures.of(self._read(indices))

    def _read(self, indices: Sequence[int]) -> dict[str, Array]:
        rows = {"pooled": self._pooled[list(indices)]}
        for output in self.store.outputs:
            if output != "pooled":
                rows[output] = self.store.read(output, [self.keys[index] for index in indices])
        return rows
