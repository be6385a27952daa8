"""Candidate regions of many images, found once and kept.

Fixed schemes cost nothing. Selective search takes a good tenth of a second an image, so what it found is stored under
the digest of the image, beside the features.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.extraction import SHARD, content_key
from seesay.images.io import open_image
from seesay.images.regions import Boxes, fixed_regions, selective_search
from seesay.images.store import RowStore
from seesay.system.extras import has
from seesay.system.files import cache_dir
from seesay.system.progress import Progress

_PIXELS = 256  # selective search works on 200


def propose_regions(image: Image.Image, scheme: str) -> Boxes:
    """The regions of an opened image.

    Args:
        scheme: `search-N` for selective search, or a scheme of `seesay.images.regions.fixed_regions`.

    Example:
        >>> propose_regions(Image.new("RGB", (64, 48)), "search-10").shape
        (10, 4)
    """
    n = searched(scheme)
    return fixed_regions(scheme) if n is None else selective_search(image, n)


def available(scheme: str) -> tuple[str, tuple[str, ...]]:
    """The scheme, or as many fixed windows where selective search is not installed; and what is to be told of that.

    Example:
        >>> available("windows-20")
        ('windows-20', ())
    """
    n = searched(scheme)
    if n is None or has("regions"):
        return scheme, ()
    told = f"boxes are chosen among {n} fixed windows: selective search needs pip install 'seesay[regions]'"
    return f"windows-{n}", (told,)


def searched(scheme: str) -> int | None:
    """How many regions a scheme wants from selective search; None for one that is the same for all images."""
    if found := re.fullmatch(r"search-(\d+)", scheme):
        return int(found[1])
    try:
        fixed_regions(scheme)
    except SeesayError as error:
        raise SeesayError(error.what, allowed=f"search-N, {error.allowed}") from error
    return None


def proposals_of(
    paths: Sequence[Path], scheme: str, *, root: Path | None = None, on_progress: Progress | None = None
) -> list[Boxes]:
    """The regions of every image, in the order of the paths.

    Args:
        paths: Images.
        scheme: As for `propose_regions`.
        root: The folder of the store, where it is not the user's own.
        on_progress: Called with the images that are done, and all.

    Raises:
        SeesayError: An image cannot be opened, or there is no such scheme.
    """
    if searched(scheme) is None:
        return [fixed_regions(scheme)] * len(paths)
    store = RowStore((root or cache_dir() / "features") / "proposals" / scheme, must_keep=False)
    keys = [content_key(path) for path in paths]
    by_key = dict(zip(keys, paths, strict=True))
    todo = store.missing(keys)
    for start in range(0, len(todo), SHARD):
        rows = []
        for key in todo[start : start + SHARD]:
            rows.append(propose_regions(open_image(by_key[key], at_least=_PIXELS), scheme))
            if on_progress:
                on_progress(len(by_key) - len(todo) + start + len(rows), len(by_key))
        store.write(todo[start : start + SHARD], np.stack(rows).astype(np.float16))
    return list(store.read(keys).astype(np.float32))
