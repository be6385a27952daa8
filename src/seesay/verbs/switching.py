"""`seesay library use`: the same photos through another model, without losing what was indexed with the first."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seesay.errors import SeesayError
from seesay.library.indexing.beside import current_index, index_name, index_place, indexes, use_index
from seesay.library.indexing.places import holds_library, library_base, open_store
from seesay.library.library import Library

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.library.encoder import Encoder
    from seesay.library.types import Folder

N_TIMED = 4
"""Photos by which it is found out how long one takes."""
SIDE = 800
"""Of the photos that are timed, in pixels; decoding larger ones takes longer."""


@dataclass(frozen=True, slots=True)
class Switched:
    """What a library answers from after a switch.

    Attributes:
        model: The weights.
        place: The folder of its index.
        n_photos: Different photos that the library knows.
        n_missing: Of these, those that this model has not been shown yet.
        seconds: How long that takes about, by a few photos that were timed on all cores; None where nothing is missing.
        bytes: What an index of all of them takes on the disk, about, without thumbnails.
    """

    model: str
    place: Path
    n_photos: int
    n_missing: int
    seconds: float | None
    bytes: int


def use_model(model: str | Path, library: Path | str | None = None) -> Switched:
    """Let a library search by another model; indexes of others stay where they are.

    Args:
        model: Weights by name or folder.
        library: Where the library is; by default the person's own.

    Raises:
        SeesayError: There are no such weights, they cannot be a first stage of search, or the library is on a server.
    """
    base = library_base(library)
    if not isinstance(base, Path):
        raise SeesayError("a library on a server keeps one index", allowed="another database for another model")
    from seesay.library.encoder import WeightsEncoder

    encoder = WeightsEncoder(model)
    encoder.require_first()
    if not holds_library(base):
        raise SeesayError(f"there is no library in {base} yet", hint=f"seesay index ~/Pictures --model {model}")
    # Stores, and no libraries: the model of the index in use may have been removed.
    with closing(open_store(current_index(base))) as before:
        folders, digests = before.folders(), set(before.digests())
    with closing(open_store(base)) as first:
        made_with = first.fingerprint()
    own = encoder.fingerprint
    is_first = made_with is None or made_with.model == own.model
    name = None if is_first else index_name(own)
    place = index_place(base, name)
    with Library(place, model=model) as opened:
        _prepare(opened, folders)
        missing = digests - set(opened.store.digests())
        cascade = opened.cascade
        n_numbers = own.dim + sum(stage.fingerprint.dim for stage in cascade.stages)
    use_index(base, name)  # last: killed before, the library is as it was
    return Switched(
        own.model, place, len(digests), len(missing), _seconds(encoder, len(missing)), 2 * n_numbers * len(digests)
    )


def _prepare(opened: Library, folders: "Sequence[Folder]") -> None:
    """Where a library is still empty, let it take vectors of its model from here on, and look through these folders."""
    stages = {stage.stage: stage.fingerprint for stage in opened.stages}
    with opened.store.writing():
        opened.store.start(opened.encoder.fingerprint, stages, only_if_empty=True)
        if not opened.store.folders():
            opened.store.set_folders(folders)


def models_of(library: Path | str | None = None) -> list[tuple[str, Path, int, bool]]:
    """The models that a library has an index of: name, folder, different photos, and whether it is in use."""
    base = library_base(library)
    if not isinstance(base, Path) or not holds_library(base):
        return []
    found, used = [], current_index(base)
    for place in indexes(base):
        store = open_store(place)
        try:
            made_with = store.fingerprint()
            if made_with is not None:
                found.append((made_with.model, place, store.counts().contents, place == used))
        finally:
            store.close()
    return found


def _seconds(encoder: "Encoder", n: int) -> float | None:
    if not n:
        return None
    from seesay.system.files import n_cores

    photos = _samples()
    with encoder.inference_session() as prepare:
        prepare()
        encoder.encode_photos(photos[:1])
        start = time.perf_counter()
        encoder.encode_photos(photos)
        each = (time.perf_counter() - start) / len(photos)
    return n * each / n_cores()


def _samples() -> "Sequence[Image]":
    from seesay.images.io import open_image

    folder = Path(__file__).parents[1] / "samples"
    opened = [open_image(path) for path in sorted(folder.glob("*.jpg"))[:N_TIMED]]
    for image in opened:
        image.thumbnail((SIDE, SIDE))
    return opened
