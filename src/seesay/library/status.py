"""What a library tells about itself."""

from dataclasses import dataclass

from seesay.library.store import Counts, Fingerprint, Folder


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
