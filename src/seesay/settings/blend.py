"""How a later stage of search counts: its scores, brought onto the scale of the stages before it, and blended."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.settings.calibration import Calibration
from seesay.system.tables import read_table


@dataclass(frozen=True)
class Blend:
    """How a stage counts.

    Attributes:
        after: The weights of the stages before it, for which this was chosen.
        k: Photos that are reranked.
        weight: Of this stage's model, from 0 to 1.
        slope: With `offset`, brings its scores onto those of the stages before it.
        calibration: How a blended score becomes a probability, where that has been measured.

    Example:
        >>> blend = Blend(("vse",), k=100, weight=0.5, slope=2.0, offset=0.1)
        >>> blend.gain(np.array([0.4, 0.4]), np.array([0.15, 0.3])).round(2).tolist()
        [0.0, 0.15]
    """

    after: tuple[str, ...]
    k: int = field(metadata={"at_least": 1})
    weight: float = field(metadata={"at_least": 0, "at_most": 1})
    slope: float
    offset: float
    calibration: Calibration | None = None

    def gain(self, before: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.float64]:
        """What is added to the scores of the stages before, for photos that this stage's model gives these."""
        return np.asarray(self.weight * (self.slope * scores + self.offset - before), np.float64)

    def blend(self, before: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The scores of search after this stage, of the best k photos of each sentence: (n_texts, n_photos)."""
        best = np.argsort(-before, axis=1)[:, : self.k]
        near = np.take_along_axis(before, best, 1)
        final = before.copy()
        gain = self.gain(near, np.take_along_axis(scores, best, 1))
        np.put_along_axis(final, best, (near + gain).astype(np.float32), 1)
        return final

    def to_table(self) -> dict[str, Any]:
        """The table `cascade` of config.json."""
        curve = self.calibration.to_table() if self.calibration else None
        return {**asdict(self), "after": list(self.after), "calibration": curve}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Blend":
        """Read what `to_table` gave; further keys are remarks."""
        return read_table(cls, table, origin, "cascade.", remarks=True)
