"""What a library is about: files, contents, photos, failures, filters.

A *content* is everything that follows from the bytes of a file: its vector, thumbnail, size in pixels, date, camera and
tags. A *photo* is a path that has such a content. Two paths with the same bytes share one content, so a renamed or
copied photo is never encoded again. A *failure* is a path whose bytes cannot be used, with the reason.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seesay.system import ranges
from seesay.system.reading import parse_json
from seesay.system.remote import stored_path

Vector = NDArray[np.float32]
Tags = tuple[tuple[int, float], ...]
"""Classes of the network's classifier with their probabilities, the likeliest first."""


class Tagged(NamedTuple):
    """Tags of many contents, one in each row: (n,) each."""

    contents: NDArray[np.int64]
    classes: NDArray[np.int64]
    probabilities: NDArray[np.float64]


_LATEST = 2**63 - 1  # nanoseconds since 1970, in the year 2262


class File(NamedTuple):
    """A file as the disk shows it; a path is bytes, since not every name is text."""

    path: bytes
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: bytes, status: os.stat_result) -> "File":
        """Of a file whose status is known; a time that no database holds becomes the nearest that one does."""
        return cls(path, status.st_size, min(max(status.st_mtime_ns, -_LATEST), _LATEST))


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that follows from the bytes of a photo.

    Attributes:
        digest: Of the bytes (`seesay.images.extraction.content_key`).
        width: Of the upright photo, in pixels.
        taken: When, as ISO 8601 without a zone, which cameras do not tell; None where the file does not say.
        vector: (D,) float16, of unit length.
        thumbnail: A small JPEG without metadata.
        views: What the later stages of search keep of it, by stage: (N, D') float16 (`seesay.library.ranking.cascade`).
    """

    digest: str
    width: int
    height: int
    taken: str | None
    camera: str | None
    vector: NDArray[np.float16]
    thumbnail: bytes
    tags: Tags = ()
    views: Mapping[str, NDArray[np.float16]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that cannot be used, and why; it is not tried again until it changes."""

    file: File
    reason: str
    hint: str | None = None

    @property
    def path(self) -> Path:
        return as_path(self.file.path)


@dataclass(slots=True)
class Batch:
    """What is written in one transaction.

    Attributes:
        contents: Those that the library may not have.
        photos: Files with the digests of their contents.
    """

    contents: list[Content] = field(default_factory=list)
    photos: list[tuple[File, str]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Photo:
    """A photo of the library.

    Attributes:
        id: Its own for ever: the id of a photo that is gone is not given again.
        content: The id of what it shows; copies of one file share it.
        mtime_ns: When the file was last changed, in nanoseconds.
        date: When it was taken, or where the file does not say so, when it was last changed; ISO 8601.
        taken: The date in the file itself, if any.
    """

    id: int
    path: Path
    content: int
    size: int
    mtime_ns: int
    date: str
    width: int
    height: int
    taken: str | None
    camera: str | None


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder whose photos are in the library, and what is left out of it."""

    path: Path
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which photos are wanted; what is empty does not restrict.

    Attributes:
        folders: Below one of these.
        within: Below a folder of this name, or these names one below the other, wherever it lies.
        during: Dates that begin so, ISO 8601: `2019` or `2019-07`.
        after: Dates from this one on: `2019` starts with the year.
        before: Dates before this one begins.
        months: In these months of any year, 1 for January.
        camera: Part of the camera's name, in any case.
        classes: Tagged with one of these, and likely so (`seesay.library.ranking.tags`).
    """

    folders: tuple[Path, ...] = ()
    within: str = ""
    during: str = ""
    after: str = ""
    before: str = ""
    months: tuple[int, ...] = ()
    camera: str = ""
    classes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A content near a query, with those of its photos that pass the filter, the oldest id first."""

    cosine: float
    vector: Vector
    photos: tuple[Photo, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a library holds."""

    photos: int
    contents: int
    failures: int


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What vectors depend on; only vectors of the same fingerprint can be compared.

    Attributes:
        model: The weights by name, or their folder.
        weights: Digest of the weights file.
        features: Backbone, its digest, size and crop.
        dim: Numbers per vector.
    """

    model: str
    weights: str
    features: str
    dim: int

    @classmethod
    def from_json(cls, text: str) -> "Fingerprint":
        """Read what a store has kept.

        Raises:
            TypeError, ValueError: It is none.
        """
        found = cls(**parse_json(text))
        if not all(isinstance(each, str) for each in (found.model, found.weights, found.features)):
            raise ValueError("it is no fingerprint")
        if type(found.dim) is not int or not 1 <= found.dim <= ranges.WIDTH:
            raise ValueError("it says of no vector how long it is")
        return found


def as_path(path: bytes) -> Path:
    """The path that stands in the store as bytes.

    Example:
        >>> as_path(b"/photos/caf\\xe9.jpg").name  # no UTF-8, and still a path that opens
        'caf\\udce9.jpg'
    """
    return stored_path(os.fsdecode(path))
