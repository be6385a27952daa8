"""What a library remembers, and the verbs that every place to remember it in answers.

A *content* is everything that follows from the bytes of a file: its vector, thumbnail, size in pixels, date, camera and
tags. A *photo* is a path that has such a content. Two paths with the same bytes share one content, so a renamed or
copied photo is never encoded again. A *failure* is a path whose bytes cannot be used, with the reason.

A batch is written whole or not at all; ids are given once and never again.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Tags = tuple[tuple[int, float], ...]
"""Classes of the network's classifier with their probabilities, the likeliest first."""


STAGES = ("regions", "captions")
"""The stages of search after the first that keep something of each content."""


class File(NamedTuple):
    """A file as the disk shows it; a path is bytes, since not every name is text."""

    path: bytes
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that follows from the bytes of a picture.

    Attributes:
        digest: Of the bytes (`seesay.images.extraction.content_key`).
        width: Of the upright picture, in pixels.
        taken: When, as ISO 8601 without a zone, which cameras do not tell; None where the file does not say.
        vector: (D,) float16, of unit length.
        thumbnail: A small JPEG without metadata.
        views: What the later stages of search keep of it, by stage: (N, D') float16 (`seesay.library.cascade`).
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
        camera: Part of the camera's name, in any case.
        classes: Tagged with one of these, and likely so (`seesay.library.tags`).
    """

    folders: tuple[Path, ...] = ()
    within: str = ""
    during: str = ""
    after: str = ""
    before: str = ""
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


class Store(ABC):
    """Where a library is kept. Any number of readers, in any number of processes; who may write, `writing` says."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Where it is, as a person would say it; without secrets."""

    @abstractmethod
    def fingerprint(self) -> Fingerprint | None:
        """Of the vectors that it holds; None while it holds none."""

    @abstractmethod
    def stages(self) -> dict[str, Fingerprint]:
        """Of the views that it holds for later stages of search, by stage."""

    @abstractmethod
    def start(
        self, fingerprint: Fingerprint, stages: Mapping[str, Fingerprint] = {}, *, only_if_empty: bool = False
    ) -> None:
        """Forget all photos and failures, keep the folders, and take vectors of these fingerprints from here on.

        `only_if_empty` leaves a store alone that takes vectors already, of whatever fingerprint.
        """

    @abstractmethod
    def writing(self, *, together: bool = False) -> AbstractContextManager[None]:
        """The right to write, held by one at a time, or by all who write `together`, where the store allows that.

        Raises:
            SeesayError: Somebody else holds it.
        """

    @abstractmethod
    def folders(self) -> list[Folder]:
        """Those that are looked through for photos."""

    @abstractmethod
    def set_folders(self, folders: Iterable[Folder], known: Sequence[Folder] | None = None) -> bool:
        """Put these in place of the ones it has, or only of the `known` ones; says whether that was done."""

    @abstractmethod
    def files(self, folder: Path) -> dict[bytes, File]:
        """What is known of the files below a folder, photos and failures, by path."""

    @abstractmethod
    def digests(self) -> Collection[str]:
        """Of all contents."""

    @abstractmethod
    def write(self, batch: Batch) -> list[tuple[File, str]]:
        """Write a batch in one transaction.

        Returns:
            Photos that were not written because their content is neither in the batch nor in the library any more.
        """

    @abstractmethod
    def forget(self, paths: Collection[bytes]) -> None:
        """Remove photos and failures by path."""

    @abstractmethod
    def drop_unused(self) -> int:
        """Remove contents that no photo has any more; says how many."""

    @abstractmethod
    def nearest(self, query: Vector, n: int, where: Filter, bonus: Mapping[int, float] | None = None) -> list[Hit]:
        """The n contents of the highest cosine with a unit vector, best first.

        Args:
            query: (D,).
            n: How many; fewer where fewer pass the filter.
            where: Which photos count.
            bonus: What is added to the cosine of some contents before they are ranked, by id.
        """

    @abstractmethod
    def latest(self, n: int, where: Filter, skip: int = 0) -> list[Photo]:
        """The n photos of the latest date, latest first, without so many of the very latest."""

    @abstractmethod
    def photo(self, photo_id: int) -> Photo | None:
        """A photo by its id."""

    @abstractmethod
    def thumbnail(self, photo_id: int) -> bytes | None:
        """A photo's small JPEG."""

    @abstractmethod
    def vectors(self, contents: Sequence[int]) -> dict[int, Vector]:
        """The vectors (D,) of contents by id."""

    @abstractmethod
    def views(self, stage: str, contents: Sequence[int]) -> dict[int, Vector]:
        """What a stage keeps of contents, (N, D), by id; of those that it has seen."""

    @abstractmethod
    def tags(self, contents: Sequence[int]) -> dict[int, Tags]:
        """The tags of contents by id."""

    @abstractmethod
    def tagged(self, classes: Sequence[int]) -> dict[int, Tags]:
        """Contents that have one of these classes among their tags, with those tags alone."""

    @abstractmethod
    def failures(self, folders: Sequence[Path] = ()) -> list[Failure]:
        """Files that cannot be used, by path."""

    @abstractmethod
    def counts(self, folders: Sequence[Path] = ()) -> Counts:
        """How much it holds, below some folders or altogether."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds open."""


def as_path(path: bytes) -> Path:
    """The path that stands in the store as bytes.

    Example:
        >>> as_path(b"/photos/caf\\xe9.jpg").name  # no UTF-8, and still a path that opens
        'caf\\udce9.jpg'
    """
    return Path(os.fsdecode(path))
