"""Words that captions hardly ever had: photos found by what an image classifier calls them.

The network below a matcher was trained on ImageNet, and its classifier knows a thousand things by name, many of which
no caption mentions. A photo's likely classes are its tags. A word of a query that the matcher has seen too rarely to
know well adds to the cosine of photos whose tags it names, the more the rarer it is: λ · √p, where p is the probability
of the classes that the word names. How much that is, is chosen on dev (`seesay tune --only tags`).
"""

import gzip
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from seesay.library.classes import CLASS_NAMES
from seesay.library.tag_names import classes_by_word, classes_named
from seesay.library.types import Tagged, Tags
from seesay.settings.tags import TagSettings


@dataclass(frozen=True, slots=True)
class Clue:
    """What a word of a query says about tags: its weight λ, and the classes that it names with how well they fit."""

    weight: float
    classes: Mapping[int, float]
    word: str = ""

    def worth(self, tags: Tags) -> float:
        """What is added to the cosine of a photo with these tags.

        Example:
            >>> Clue(0.4, {1: 1.0, 2: 0.5}).worth(((1, 0.2), (2, 0.1), (7, 0.3)))
            0.2
        """
        p = sum(probability * self.classes.get(number, 0.0) for number, probability in tags)
        return self.weight * math.sqrt(min(p, 1.0))


def worth_by_content(clues: Sequence[Clue], tagged: Tagged) -> dict[int, float]:
    """What clues add to the cosines of contents, by id (`Clue.worth`).

    Example:
        >>> tagged = Tagged(np.array([7, 9, 7]), np.array([1, 1, 2]), np.array([0.2, 0.25, 0.1]))
        >>> worth_by_content([Clue(0.4, {1: 1.0, 2: 0.5})], tagged)
        {7: 0.2, 9: 0.2}
    """
    if not clues:
        return {}
    contents, rows = np.unique(tagged.contents, return_inverse=True)
    total = np.zeros(len(contents))
    for clue in clues:
        fits = np.zeros(len(CLASS_NAMES))
        fits[list(clue.classes)] = list(clue.classes.values())
        p = np.bincount(rows, tagged.probabilities * fits[tagged.classes], len(contents))
        total += clue.weight * np.sqrt(np.minimum(p, 1.0))
    return dict(zip(contents.tolist(), total.tolist(), strict=True))


def find_clues(counts: Mapping[str, int], settings: TagSettings | None = None) -> tuple[Clue, ...]:
    """What the words of a query say about tags.

    Args:
        counts: Its content words, with how often the matcher has seen each in training.
        settings: How much tags count; those of the matcher's weights.

    Example:
        >>> find_clues({"man": 12_000, "banjo": 0})
        (Clue(weight=0.35, classes={420: 1.0}, word='banjo'),)
        >>> find_clues({"espresso": 0})[0].weight
        0.6
    """
    how = settings or TagSettings()
    alone = not any(counts.values())
    clues = []
    for word, count in counts.items():
        weight = how.weight_alone if alone else how.weight_of(count)
        if weight:
            # Word vectors are guesses, and a word that was learned, however badly, needs none.
            classes = classes_named(word) or (classes_alike(word, how) if count == 0 else {})
            if classes:
                clues.append(Clue(weight, classes, word))
    return tuple(clues)


def classes_alike(word: str, settings: TagSettings | None = None) -> dict[int, float]:
    """Classes whose names have words that are used like this one, with the cosine of the nearest.

    Example:
        >>> from seesay.library.classes import CLASS_NAMES
        >>> [(CLASS_NAMES[number], round(alike, 2)) for number, alike in classes_alike("cappuccino").items()][:3]
        [('espresso machine', 0.92), ('espresso coffee', 0.92), ('soda bottle', 0.74)]
    """
    how = settings or TagSettings()
    words, start = _alike_words(), f"\n{word}\t"
    place = words.find(start)
    line = words[place + len(start) : words.find("\n", place + 1)] if place >= 0 else ""
    found: dict[int, float] = {}
    for pair in line.split("\t") if line else ():
        name, _, cosine = pair.partition(" ")
        if float(cosine) < how.alike or len(found) >= how.n_alike:
            break
        for number in classes_by_word()[name]:
            found.setdefault(number, float(cosine))
    return found


@cache
def _alike_words() -> str:
    """Words and the words of class names that are used like them, a line for each (`tools/make_alike_words.py`)."""
    return gzip.decompress((Path(__file__).parents[1] / "alike.txt.gz").read_bytes()).decode()
