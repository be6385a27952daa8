"""The features of images that were given: of files they are kept for the next time, of others they are computed."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from seesay.errors import SeesayError
from seesay.images.extraction import FeatureStore, FeatureTable, extract
from seesay.images.features import Features
from seesay.models.base import Matcher
from seesay.verbs.inputs import NamedImage
from seesay.verbs.results import Bars


@dataclass(frozen=True, eq=False, slots=True)
class Seen:
    """Images through the eyes of a model.

    Attributes:
        images: Those that can be used.
        table: Their features.
        failures: Why others cannot, by name.
    """

    images: list[NamedImage]
    table: FeatureTable | Features
    failures: dict[str, str]

    def all(self) -> Features:
        """The features of all images at once."""
        return self.table if isinstance(self.table, Features) else self.table.rows(range(len(self.table)))


@contextmanager
def see(model: Matcher, images: Sequence[NamedImage], bars: Bars, *, keep_maps: bool) -> Iterator[Seen]:
    """Compute what a model needs of images; it can be read as long as the context lasts.

    Args:
        keep_maps: Whether the maps of photos are worth their place in the cache, as one vector for a photo always is.
    """
    with ExitStack() as stack:
        paths = [image.source for image in images if isinstance(image.source, Path)]
        if len(paths) < len(images):
            yield _see_now(model, images, bars)
            return
        keep = keep_maps or model.outputs == ("pooled",)
        root = None if keep else Path(stack.enter_context(TemporaryDirectory(prefix="seesay-")))
        store = FeatureStore(model.feature_spec, root=root, outputs=model.outputs)
        with bars("features") as on_progress:
            done = extract(paths, store, on_progress=on_progress)
        usable = [(image, key) for image, path in zip(images, paths, strict=True) if (key := done.keys[path])]
        table = FeatureTable(store, [key for _, key in usable])
        yield Seen([image for image, _ in usable], table, {str(path): why for path, why in done.failures.items()})


def _see_now(model: Matcher, images: Sequence[NamedImage], bars: Bars) -> Seen:
    usable, rows, failures = [], [], {}
    with bars("features") as on_progress:
        for number, image in enumerate(images, 1):
            try:
                rows.append(model.features([image.open(model.feature_spec.pixels)]))
                usable.append(image)
            except SeesayError as error:
                failures[image.name] = error.what
            on_progress(number, len(images))
    return Seen(usable, _join(rows), failures)


def _join(rows: Sequence[Features]) -> Features:
    if not rows:
        return Features(torch.zeros(0, 0))
    parts = {name: [getattr(row, name) for row in rows] for name in rows[0].__dataclass_fields__}
    return Features(**{name: torch.cat(part) for name, part in parts.items() if part[0] is not None})
