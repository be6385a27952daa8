"""How words and phrases become points and boxes."""

from dataclasses import dataclass, field
from typing import Any

from seesay.system.tables import read_table


@dataclass(frozen=True)
class GroundingSettings:
    """How heat maps become points and boxes, and how words are joined into phrases.

    Attributes:
        blur: Width of the bell that heat is spread with before its hottest place is looked for, in cells of the
            network's map.
        floor: Where a place begins to be hot, in standard deviations from the mean of its map.
        ramp: From there to where it is wholly hot, in standard deviations.
        area_power: What the area of a box counts for, to this power: 1 is IoU itself, less is kind to large boxes.
        coupling: What two neighbouring words gain by sharing a box, as a share of what a word gains by its own.
        common: How much of what all words of a sentence have in common is subtracted from each before it chooses a box.
        closer: Side of the crops in which an image is looked at again, as a share of its own; 0 for none.
    """

    blur: float = field(default=1.0, metadata={"at_least": 0})
    floor: float = -0.25
    ramp: float = field(default=1.0, metadata={"above": 0})
    area_power: float = field(default=0.6, metadata={"at_least": 0})
    coupling: float = field(default=0.1, metadata={"at_least": 0})
    common: float = field(default=0.8, metadata={"at_least": 0})
    closer: float = field(default=0.0, metadata={"at_least": 0, "at_most": 1})

    @property
    def rule(self) -> dict[str, float]:
        """What `seesay.grounding.heat.box_overlaps` takes."""
        return {"floor": self.floor, "ramp": self.ramp, "area_power": self.area_power}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "GroundingSettings":
        """Read the table `grounding` of config.json; a key that is missing has its default."""
        return read_table(cls, table, origin, "grounding.")
