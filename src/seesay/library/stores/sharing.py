"""Several indexers at work on one library, on one machine or on many.

Each puts the files that it has found into one queue and takes a few at a time. What it has taken is locked for it while
it encodes, and leaves the queue in the transaction that writes what became of it. An indexer that dies gives its files
back by dying, since its locks end with its connection.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from seesay.library.stores.store import Store
from seesay.library.types import Batch, File


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
    """A store that several indexers may fill at once."""

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
