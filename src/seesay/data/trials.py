"""Two-way trials: a caption, and the same one with a colour, number, thing or action that the photo does not show.

Whoever searches for a red shirt wants it red. Recall hardly notices, as captions say much else; here nothing else
differs. How a sentence is made wrong: `seesay.data.replacing`.
"""

from dataclasses import dataclass

import numpy as np

from seesay.data.collection import Collection, Item
from seesay.data.replacing import GROUPS as GROUPS
from seesay.data.replacing import replacements
from seesay.text.tokens import tokenize

N_OF_A_KIND = 100


@dataclass(frozen=True)
class Trial:
    """A photo and two sentences, one of which is about it.

    Attributes:
        item: Which photo of the collection.
        kind: `colour`, `count`, `object` or `action`.
        right: What somebody said about it.
        wrong: The same with one word replaced.
    """

    item: int
    kind: str
    right: str
    wrong: str


def draw_trials(collection: Collection, n: int = N_OF_A_KIND, seed: int = 0) -> list[Trial]:
    """Trials from the captions of a split, up to n of each kind, no photo twice in one kind.

    Example:
        >>> from pathlib import Path
        >>> item = Item("1.jpg", None, ("two dogs on a beach",))
        >>> trials = draw_trials(Collection("pets", Path("pets"), "CSV", (item,)))
        >>> [(trial.kind, trial.wrong) for trial in trials]
        [('count', 'six dogs on a beach'), ('object', 'two dogs on a stadium')]
    """
    rng = np.random.default_rng(seed)
    trials: list[Trial] = []
    for kind in GROUPS:
        own: list[Trial] = []
        for place in rng.permutation(len(collection.items)):
            found = _trial(int(place), collection.items[place], kind, rng)
            if found is not None:
                own.append(found)
            if len(own) == n:
                break
        trials += own
    return trials


def _trial(place: int, item: Item, kind: str, rng: np.random.Generator) -> Trial | None:
    ways = list(replacements(item.sentences, GROUPS[kind]))
    if not ways:
        return None
    way = ways[int(rng.integers(len(ways)))]
    tokens = tokenize(item.sentences[way.sentence])
    wrong = [*tokens[: way.at], way.others[int(rng.integers(len(way.others)))], *tokens[way.at + 1 :]]
    return Trial(place, kind, " ".join(tokens), " ".join(wrong))
