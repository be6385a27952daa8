"""Two-way trials: a caption, and the same one with a colour, number, thing or action that the photo does not show.

Whoever searches for a red shirt wants it red. Recall hardly notices, as captions say much else; here nothing else
differs. A word is replaced by another of its group that none of the photo's captions has, so that the wrong sentence is
wrong as far as anybody said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seesay.data.collection import Collection, Item
from seesay.text.tokens import tokenize

GROUPS: Mapping[str, tuple[str, ...]] = {
    "colour": ("red blue green yellow black white brown orange pink purple gray",),
    "count": ("two three four five six",),
    "object": (
        "dog cat horse bird cow sheep elephant",
        "dogs cats horses birds cows sheep elephants",
        "car bus truck bicycle motorcycle boat train",
        "ball frisbee hat umbrella guitar camera phone book",
        "beach street forest kitchen stadium mountain desert",
    ),
    "action": (
        "running jumping swimming sitting sleeping eating climbing dancing",
        "runs jumps swims sits sleeps eats climbs dances",
    ),
}
"""Kind → groups of words any two of which exclude each other, roughly."""
_ALIKE = (
    {"gray", "grey", "silver", "white"}, {"purple", "pink", "violet"}, {"orange", "red", "yellow"},
    {"brown", "tan", "orange"}, {"bicycle", "bike", "motorcycle", "motorbike"}, {"truck", "car", "van", "vehicle"},
    {"dog", "dogs", "puppy", "puppies"}, {"cat", "cats", "kitten"}, {"hat", "cap", "helmet"},
    {"phone", "cellphone", "camera"}, {"street", "road", "city"}, {"forest", "trees", "woods"},
    {"mountain", "hill", "cliff", "mountains"}, {"running", "runs", "run", "jumping", "jumps", "leaping", "leaps"},
    {"sitting", "sits", "seated", "sit"}, {"climbing", "climbs", "climb", "climber"},
)  # fmt: skip
"""Words that people use for the same thing: none of them takes the place of another, or is taken for absent."""
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
    said = {word for sentence in item.sentences for word in tokenize(sentence)}
    said = said.union(*(alike for alike in _ALIKE if said & alike))
    ways: list[tuple[list[str], int, Sequence[str]]] = []
    for sentence in item.sentences:
        tokens = tokenize(sentence)
        for at, token in enumerate(tokens):
            for group in GROUPS[kind]:
                words = group.split()
                others = [word for word in words if word not in said]
                # A sentence with two of a group, a black dog on a white sofa, says too little about which is meant.
                if token in words and others and sum(other in words for other in tokens) == 1:
                    ways.append((tokens, at, others))
    if not ways:
        return None
    tokens, at, chosen = ways[int(rng.integers(len(ways)))]
    wrong = [*tokens[:at], chosen[int(rng.integers(len(chosen)))], *tokens[at + 1 :]]
    return Trial(place, kind, " ".join(tokens), " ".join(wrong))
