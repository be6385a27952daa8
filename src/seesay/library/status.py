"""What a library holds and where, at a glance."""

from dataclasses import dataclass

from seesay.library.cascade import Rescorer
from seesay.library.store import Counts, Fingerprint, Folder, Store


@dataclass(frozen=True, slots=True)
class Status:
    """What a library holds and where.

    Attributes:
        folders: The indexed folders with how much of each.
        agrees: Whether the vectors are those of the weights that are installed.
        second: The weights of the second stage, if the library holds what it needs.
        could_look_again: Whether there is a second stage that the library holds nothing for.
    """

    name: str
    fingerprint: Fingerprint | None
    agrees: bool
    counts: Counts
    folders: tuple[tuple[Folder, Counts], ...]
    second: str | None = None
    could_look_again: bool = False

    @classmethod
    def of(cls, store: Store, own: Fingerprint, second: Rescorer | None, installed: Rescorer | None) -> "Status":
        """Of a store, for weights of this fingerprint and the second stages that it holds vectors for and could."""
        held = store.fingerprint()
        return cls(
            name=store.name,
            fingerprint=held,
            agrees=held is None or held == own,
            counts=store.counts(),
            folders=tuple((folder, store.counts([folder.path])) for folder in store.folders()),
            second=second.fingerprint.model if second else None,
            could_look_again=held is not None and second is None and installed is not None,
        )
