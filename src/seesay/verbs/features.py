"""The features of given images: those of files are stored, those of other images computed each time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from seesay.errors import SeesayError
from seesay.images.arrays import LOWER, ImageFeatures
from seesay.images.extraction import extract
from seesay.images.feature_store import FeatureStore, FeatureTable, content_key
from seesay.runtime.protocol import Answering
from seesay.verbs.inputs import NamedImage
from seesay.verbs.results import Bars


@dataclass(frozen=True, eq=False, slots=True)
class Seen:
    """Images through the eyes of a model.

    Attributes:
        images: Those that can be used.
        keys: What each shows, by its content: files of equal content have equal keys.
        table: Their features.
        failures: Why others cannot, by name.
    """

    images: list[NamedImage]
    keys: list[str]
    table: FeatureTable | ImageFeatures
    failures: dict[str, str]

    def all(self) -> ImageFeatures:
        """The features of all images at once."""
        return self.table if isinstance(self.table, ImageFeatures) else self.table.arrays(range(len(self.table)))

    def batches(self, size: int) -> Iterator[ImageFeatures]:
        """The same, so many images at a time where they are stored."""
        if isinstance(self.table, ImageFeatures):
            yield self.table
            return
        for start in range(0, len(self.table), size):
            yield self.table.arrays(range(start, min(start + size, len(self.table))))

    def distinct(self) -> "Seen":
        """The same without copies: of files of equal content the first."""
        if isinstance(self.table, ImageFeatures):
            return self
        first: dict[str, NamedImage] = {}
        for key, image in zip(self.keys, self.images, strict=True):
            first.setdefault(key, image)
        return Seen(list(first.values()), list(first), FeatureTable(self.table.store, list(first)), self.failures)


@contextmanager
def see(
    model: Answering,
    images: Sequence[NamedImage],
    bars: Bars,
    *,
    keep_maps: bool,
    title: str = "features",
    outputs: tuple[str, ...] | None = None,
) -> Iterator[Seen]:
    """Compute what a model needs of images; it can be read as long as the context lasts.

    Args:
        keep_maps: Whether the maps of photos are worth their place in the cache, as one vector for a photo always is.
        title: What the progress is called.
        outputs: What is wanted of an image; by default what the model itself needs.
    """
    outputs = outputs or model.outputs
    with ExitStack() as stack:
        paths = [image.source for image in images if isinstance(image.source, Path)]
        # Activations of a lower half are kept for training only: they are many times as large as features.
        if len(paths) < len(images) or LOWER in outputs:
            yield _see_now(model, images, bars, title)
            return
        keep = keep_maps or outputs == ("pooled",)
        root = None if keep else Path(stack.enter_context(TemporaryDirectory(prefix="seesay-")))
        store = FeatureStore(model.feature_spec, root=root, outputs=outputs)
        with bars(title) as on_progress:
            done = extract(paths, store, on_progress=on_progress)
        usable = [(image, key) for image, path in zip(images, paths, strict=True) if (key := done.keys[path])]
        keys = [key for _, key in usable]
        failures = {str(path): why for path, why in done.failures.items()}
        yield Seen([image for image, _ in usable], keys, FeatureTable(store, keys), failures)


def _see_now(model: Answering, images: Sequence[NamedImage], bars: Bars, title: str) -> Seen:
    usable, rows, failures = [], [], {}
    with bars(title) as on_progress:
        for number, image in enumerate(images, 1):
            try:
                rows.append(model.features([image.open(model.feature_spec.pixels)]))
                usable.append(image)
            except SeesayError as error:
                failures[image.name] = error.what
            on_progress(number, len(images))
    keys = [content_key(image.source) if isinstance(image.source, Path) else image.name for image in usable]
    return Seen(usable, keys, ImageFeatures.join(rows), failures)
