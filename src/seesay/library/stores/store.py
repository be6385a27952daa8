"""The verbs that every place to keep a library in answers.

A batch is written whole or not at all; ids are given once and never again.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from seesay.library.types import (
    Batch,
    Counts,
    Failure,
    File,
    Filter,
    Fingerprint,
    Folder,
    Hit,
    Photo,
    Tagged,
    Tags,
    Vector,
)

WAIT = "wait until it has finished; searching works meanwhile"


def busy(name: str) -> str:
    """What to say where somebody else is writing."""
    return f"the library {name} is being written by another seesay"


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

    def require_room(self, n_photos: int) -> None:  # noqa: B027 - a store that cannot tell says nothing
        """Say before hours of work that the vectors of so many further photos cannot be kept, where that is known.

        Raises:
            SeesayError: There is too little room for them.
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
    def tagged(self, classes: Sequence[int]) -> Tagged:
        """The tags of some classes, in any order."""

    @abstractmethod
    def failures(self, folders: Sequence[Path] = ()) -> list[Failure]:
        """Files that cannot be used, by path."""

    @abstractmethod
    def counts(self, folders: Sequence[Path] = ()) -> Counts:
        """How much it holds, below some folders or altogether."""

    @property
    def shared(self) -> "SharedStore | None":
        """The same store, where several indexers may fill it at once."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds open."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Files that one indexer works on.

    Attributes:
        files: Nobody else gets them while the claim lasts.
        write: Writes what became of them and takes them out of the queue, in the transaction of the claim; files that
            are named as its second argument go to the end of the queue instead.
    """

    files: list[File]
    write: Callable[[Batch, Collection[File]], list[tuple[File, str]]]


class SharedStore(Store):
    """A store that several indexers may fill at once, on one machine or on many.

    Each puts the files that it has found into one queue and takes a few at a time. What it has taken is locked for it
    while it encodes, and leaves the queue in the transaction that writes what became of it. An indexer that dies gives
    its files back by dying, since its locks end with its connection.
    """

    @property
    def shared(self) -> "SharedStore":
        return self

    @abstractmethod
    def opener(self) -> "Callable[[], SharedStore]":
        """Opens the same store in another process, on whatever machine; it may hold a password."""

    @abstractmethod
    def enqueue(self, files: Iterable[File]) -> None:
        """Put files into the queue; those that wait there already keep their place."""

    @abstractmethod
    def claim(self, n: int, folder: Path) -> AbstractContextManager[Claim]:
        """Take up to n files below a folder that nobody works on; an error in the block gives them back."""

    @abstractmethod
    def waiting(self, folder: Path, at_most: int | None = None) -> list[bytes]:
        """The paths below a folder that are in the queue, in whoever's hands."""

    @abstractmethod
    def finalize(self) -> None:
        """Get ready for searches, once much has been written."""
