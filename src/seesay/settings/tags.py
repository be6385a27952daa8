"""How much tags count: what a word that captions hardly ever had adds to the cosine of photos that it names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seesay.system.tables import read_table

LEAST_ALIKE = 0.6
"""The lowest cosine of two words that is on record (`tools/make_alike_words.py`)."""


@dataclass(frozen=True)
class TagSettings:
    """How much tags count.

    Attributes:
        weight: λ of a word that was never seen in training.
        weight_alone: λ where no word of the query was ever seen. Tags alone rank then, so it only sets how sure the
            score sounds: a choice, not measured.
        well_known: How often a word has to be seen in training to need no help.
        alike: Cosine of word vectors from which a class stands for a word that is no class itself.
        n_alike: The most classes that stand for one word.

    Example:
        >>> settings = TagSettings()
        >>> settings.weight_of(0), settings.weight_of(settings.well_known)
        (0.35, 0.0)
    """

    weight: float = field(default=0.35, metadata={"at_least": 0})
    weight_alone: float = field(default=0.6, metadata={"at_least": 0})
    well_known: int = field(default=500, metadata={"at_least": 1})
    alike: float = field(default=0.65, metadata={"at_least": LEAST_ALIKE, "at_most": 1})
    n_alike: int = field(default=10, metadata={"at_least": 1})

    def weight_of(self, count: int) -> float:
        """λ of a word that was seen so often in training, beside words that were seen."""
        return self.weight * max(0.0, 1 - count / self.well_known)

    def rarest(self, counts: Mapping[str, int], is_named: Callable[[str], object]) -> int:
        """How often training saw the rarest of some words; one that only tags know counts as well known.

        Example:
            >>> TagSettings().rarest({"man": 12_000, "banjo": 0}, is_named=lambda word: word == "banjo")
            500
        """
        return min(
            (count or (self.well_known if is_named(word) else 0) for word, count in counts.items()),
            default=0,
        )

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "TagSettings":
        """Read the table `tags` of config.json; a key that is missing has its default."""
        return read_table(cls, table, origin, "tags.")
