"""What a library holds and where, at a glance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seesay.library.ranking.cascade import Rescorer
from seesay.library.stores.store import Store
from seesay.library.types import Counts, Fingerprint, Folder


@dataclass(frozen=True, slots=True)
class Status:
    """What a library holds and where.

    Attributes:
        folders: The indexed folders with how much of each.
        agrees: Whether the vectors are those of the weights that are installed.
        stages: The weights of the later stages that the library holds views for, by stage.
        could_look_again: Whether there is a later stage that it holds nothing for.
    """

    name: str
    fingerprint: Fingerprint | None
    agrees: bool
    counts: Counts
    folders: tuple[tuple[Folder, Counts], ...]
    stages: Mapping[str, str] = field(default_factory=dict)
    could_look_again: bool = False

    @classmethod
    def of(cls, store: Store, own: Fingerprint, used: Sequence[Rescorer], installed: Sequence[Rescorer]) -> "Status":
        """Of a store, for weights of this fingerprint and the later stages that it holds views for and could."""
        held = store.fingerprint()
        return cls(
            name=store.name,
            fingerprint=held,
            agrees=held is None or held == own,
            counts=store.counts(),
            folders=tuple((folder, store.counts([folder.path])) for folder in store.folders()),
            stages={stage.stage: stage.fingerprint.model for stage in used},
            could_look_again=held is not None and len(used) < len(installed),
        )
