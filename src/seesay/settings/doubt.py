"""How sure a model may be of its own answer, and when it should say that it is not."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.metrics.calibration import sigmoid
from seesay.system.tables import read_table


@dataclass(frozen=True)
class Doubt:
    """P(right) = 1 / (1 + exp(-(slope · evidence + per_word · n + per_match · match + per_peak · peak + per_look · look
    + per_box · box + offset))), n being the words.

    Attributes:
        least: The probability below which an answer is doubted.
        per_match: What a matcher's cosine of answer and image counts for, where one judges it.
        matcher: Its weights.
        per_peak: What the peak of a phrase's heat counts for, where the image is looked at again in crops.
        per_look: What the matcher's best cosine with a place of these crops counts for.
        per_box: What the logit counts for that learned boxes give (`seesay.grounding.learned`).

    Example:
        >>> doubt = Doubt(slope=2.0, per_word=-0.5, offset=0.0, least=0.4)
        >>> [round(float(doubt.probability(evidence, 2)), 2) for evidence in (1.0, 0.0)]
        [0.73, 0.27]
        >>> doubt.doubts(0.27)
        True
    """

    slope: float
    per_word: float
    offset: float
    least: float = field(default=0.5, metadata={"at_least": 0, "at_most": 1})
    per_match: float = 0.0
    matcher: str = ""
    per_peak: float = 0.0
    per_look: float = 0.0
    per_box: float = 0.0

    @property
    def looks_closer(self) -> bool:
        """Whether crops of the image count."""
        return bool(self.per_peak or self.per_look or self.per_box)

    def probability(
        self,
        evidence: ArrayLike,
        n_words: ArrayLike,
        match: ArrayLike = 0.0,
        peak: ArrayLike = 0.0,
        look: ArrayLike = 0.0,
        box: ArrayLike = 0.0,
    ) -> NDArray[np.float64]:
        """That an answer of so many words is right."""
        seen, n, cosine, hottest, near, drawn = (
            np.asarray(own, np.float64) for own in (evidence, n_words, match, peak, look, box)
        )  # fmt: skip
        crops = self.per_peak * hottest + self.per_look * near + self.per_box * drawn
        return sigmoid(self.slope * seen + self.per_word * n + self.per_match * cosine + crops + self.offset)

    def doubts(self, probability: float) -> bool:
        """Whether an answer of this probability is doubted."""
        return probability < self.least

    def to_table(self) -> dict[str, float | str]:
        """Its table in config.json."""
        table = {key: round(value, 4) if isinstance(value, float) else value for key, value in asdict(self).items()}
        crops = ("per_peak", "per_look", "per_box")
        unused = (*crops, "per_match", "matcher") if not self.matcher else () if self.looks_closer else crops
        unused = unused if self.per_box else (*unused, "per_box")
        return {key: value for key, value in table.items() if key not in unused}

    @classmethod
    def from_table(cls, table: Any, origin: str, section: str) -> "Doubt":
        """Read what `to_table` gave."""
        return read_table(cls, table, origin, f"{section}.")
