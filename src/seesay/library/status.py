"""What a library holds and where, at a glance."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from seesay.errors import SeesayError
from seesay.library.stages import Cascade
from seesay.library.stores.store import Store
from seesay.library.types import Counts, Fingerprint, Folder


@dataclass(frozen=True, slots=True)
class Status:
    """What a library holds and where.

    Attributes:
        folders: The indexed folders with how much of each.
        agrees: Whether the vectors are those of the weights that are installed.
        stages: The weights of the later stages that the library holds views for, by stage.
        could_rerank: Whether there is a later stage that it holds nothing for.
        problems: Later stages that are installed and not used, with the reason and what to type.
    """

    name: str
    fingerprint: Fingerprint | None
    agrees: bool
    counts: Counts
    folders: tuple[tuple[Folder, Counts], ...]
    stages: Mapping[str, str] = field(default_factory=dict)
    could_rerank: bool = False
    problems: tuple[SeesayError, ...] = ()

    @classmethod
    def of(cls, store: Store, own: Fingerprint, cascade: Cascade) -> "Status":
        """Of a store, for weights of this fingerprint and the later stages that there are."""
        used = cascade.held(store)
        held = store.fingerprint()
        return cls(
            name=store.name,
            fingerprint=held,
            agrees=held is None or held == own,
            counts=store.counts(),
            folders=tuple((folder, store.counts([folder.path])) for folder in store.folders()),
            stages={stage.stage: stage.fingerprint.model for stage in used},
            could_rerank=held is not None and len(used) < len(cascade.stages),
            problems=tuple(cascade.unused()),
        )
