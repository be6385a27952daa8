"""How a later stage of search counts: its scores, brought onto the scale of the stages before it, and blended.

Of a whole sentence one photo is the best, and the vector of the first stage holds most of what it says. Of "a red
shirt" many photos are right, and what is red is somewhere in them: a stage that looks at regions may count for more
there, and with more photos; but not where its model has never learned a word, which is a large part of a short text.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.settings.calibration import Calibration
from seesay.system.tables import read_table
from seesay.text.function_words import content_words


@dataclass(frozen=True)
class Mix:
    """How a stage counts with texts of one kind.

    Attributes:
        k: Photos that are reranked.
        weight: Of this stage's model, from 0 to 1.
        slope: With `offset`, brings its scores onto those of the stages before it.

    Example:
        >>> mix = Mix(k=100, weight=0.5, slope=2.0, offset=0.1)
        >>> mix.gain(np.array([0.4, 0.4]), np.array([0.15, 0.3])).round(2).tolist()
        [0.0, 0.15]
    """

    k: int = field(metadata={"at_least": 1})
    weight: float = field(metadata={"at_least": 0, "at_most": 1})
    slope: float
    offset: float

    def gain(self, before: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.float64]:
        """What is added to the scores of the stages before, for photos that this stage's model gives these."""
        return np.asarray(self.weight * (self.slope * scores + self.offset - before), np.float64)

    def blend(self, before: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The scores of search after this stage, of the best k photos of each text: (n_texts, n_photos)."""
        best = np.argsort(-before, axis=1)[:, : self.k]
        near = np.take_along_axis(before, best, 1)
        final = before.copy()
        gain = self.gain(near, np.take_along_axis(scores, best, 1))
        np.put_along_axis(final, best, (near + gain).astype(np.float32), 1)
        return final


NOTHING = Mix(1, 0.0, 0.0, 0.0)
"""Of a stage that does not count."""
Knows = Callable[[str], bool]
"""Whether a stage's model has learned a word."""


@dataclass(frozen=True)
class Blend:
    """How a stage counts.

    Attributes:
        after: The weights of the stages before it, for which this was chosen.
        k: Photos that are reranked, and so on as in `Mix`: with whole sentences.
        calibration: How a blended score becomes a probability, where that has been measured.
        short: How it counts with texts of one content word, of two, and so on, where its model knows all of them;
            longer ones are whole sentences.

    Example:
        >>> blend = Blend(("eye",), 20, 0.2, 1.0, 0.0, short=(Mix(100, 0.6, 1.0, 0.0),))
        >>> [blend.mix_of(text, knows="zeppelin".__ne__).k for text in ("a dog", "a dog in the snow", "zeppelin")]
        [100, 20, 1]
    """

    after: tuple[str, ...]
    k: int = field(metadata={"at_least": 1})
    weight: float = field(metadata={"at_least": 0, "at_most": 1})
    slope: float
    offset: float
    calibration: Calibration | None = None
    short: tuple[Mix, ...] = ()

    @property
    def whole(self) -> Mix:
        """How it counts with whole sentences."""
        return Mix(self.k, self.weight, self.slope, self.offset)

    def mix_of(self, text: str, knows: Knows) -> Mix:
        """How it counts with a text; one without any content word counts as one of one word."""
        words = content_words(text)
        n_words = max(len(words), 1)
        if n_words > len(self.short):
            return self.whole
        return self.short[n_words - 1] if all(map(knows, words)) else NOTHING

    def most(self, texts: Sequence[str], knows: Knows) -> int:
        """Photos that are looked at for texts, at most; none where it does not count."""
        return max((mix.k for mix in (self.mix_of(text, knows) for text in texts) if mix.weight), default=0)

    def blend(
        self, before: NDArray[np.float32], scores: NDArray[np.float32], texts: Sequence[str], knows: Knows
    ) -> NDArray[np.float32]:
        """The scores of search after this stage, of the best photos of each text: (n_texts, n_photos)."""
        final, mixes = before.copy(), [self.mix_of(text, knows) for text in texts]
        for mix in dict.fromkeys(mixes):
            own = [row for row, each in enumerate(mixes) if each == mix]
            final[own] = mix.blend(before[own], scores[own])
        return final

    def to_table(self) -> dict[str, Any]:
        """The table `cascade` of config.json."""
        own = {key: value for key, value in asdict(self).items() if key != "short"}
        curve = self.calibration.to_table() if self.calibration else None
        short = {"short": [asdict(mix) for mix in self.short]} if self.short else {}
        return {**own, "after": list(self.after), "calibration": curve, **short}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "Blend":
        """Read what `to_table` gave; further keys are remarks."""
        return read_table(cls, table, origin, "cascade.", remarks=True)
