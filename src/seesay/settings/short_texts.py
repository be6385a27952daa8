"""How much of its correction for hubness an embedding keeps for words and short phrases.

The correction was chosen on whole sentences, of each of which one photo is the best. Of "dog" a tenth of a library is
right, and the photos that are nearest to every sentence about dogs are so because they show one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.tables import read_table
from seesay.text.function_words import content_words


@dataclass(frozen=True)
class ShortTexts:
    """What the hubness of a photo counts for with short texts, as a share of what it counts for with sentences.

    Attributes:
        shares: Of texts with one content word, with two, and so on; with more words it counts whole.

    Example:
        >>> ShortTexts((0.0, 0.5)).shares_of(["a dog", "a red ball", "two dogs in the snow"]).tolist()
        [0.0, 0.5, 1.0]
    """

    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in self.shares):
            raise SeesayError(f"short.shares is {list(self.shares)}", allowed="numbers from 0 to 1")

    def shares_of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n_texts,); a text without any content word counts as one of one word."""
        by_words = np.array([*self.shares, 1.0], np.float32)
        return by_words[[min(max(len(content_words(text)) - 1, 0), len(self.shares)) for text in texts]]

    def to_table(self) -> dict[str, list[float]]:
        """The table `short` of config.json."""
        return {"shares": list(self.shares)}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "ShortTexts":
        """Read the table `short` of config.json."""
        return read_table(cls, table, origin, "short.")
