"""Words that captions hardly ever had: photos found by what an image classifier calls them.

The network below a matcher was trained on ImageNet, and its classifier knows a thousand things by name, many of which
no caption mentions. A photo's likely classes are its tags. A word of a query that the matcher has seen too rarely to
know well adds to the cosine of photos whose tags it names, the more the rarer it is: λ · √p, where p is the probability
of the classes that the word names. `WEIGHT` and `WELL_KNOWN` were chosen on the dev photos of Flickr8K and COCO
(`benchmarks/tags.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from seesay.library.types import Tags

if TYPE_CHECKING:
    from seesay.text.vectors import Matrix, WordVectors
from seesay.library.tag_names import classes_by_word, classes_named

WEIGHT = 0.35
"""λ of a word that was never seen."""
WEIGHT_ALONE = 0.6
"""λ where no word of the query was ever seen. Tags alone rank then, so it only sets how sure the score sounds: a
choice, not measured."""
WELL_KNOWN = 500
"""How often a word has to be seen in training to need no help."""
_ALIKE = 0.65  # cosine of word vectors from which a class stands for a word that is no class itself
_N_ALIKE = 10


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
        return float(self.weight * np.sqrt(min(p, 1.0)))


def find_clues(counts: Mapping[str, int]) -> tuple[Clue, ...]:
    """What the words of a query say about tags.

    Args:
        counts: Its content words, with how often the matcher has seen each in training.

    Example:
        >>> find_clues({"man": 12_000, "banjo": 0})
        (Clue(weight=0.35, classes={420: 1.0}, word='banjo'),)
        >>> find_clues({"espresso": 0})[0].weight
        0.6
    """
    alone = not any(counts.values())
    clues = []
    for word, count in counts.items():
        weight = WEIGHT_ALONE if alone else WEIGHT * max(0.0, 1 - count / WELL_KNOWN)
        if weight:
            # Word vectors are guesses, and a word that was learned, however badly, needs none.
            classes = classes_named(word) or (classes_alike(word) if count == 0 else {})
            if classes:
                clues.append(Clue(weight, classes, word))
    return tuple(clues)


def classes_alike(word: str) -> dict[int, float]:
    """Classes whose names have words that are used like this one, with the cosine of the nearest.

    Example:
        >>> from seesay.library.classes import CLASS_NAMES
        >>> [(CLASS_NAMES[number], round(alike, 2)) for number, alike in classes_alike("cappuccino").items()][:3]
        [('espresso machine', 0.92), ('espresso coffee', 0.92), ('soda bottle', 0.74)]
    """
    vectors, known, rows = _word_space()
    if word not in vectors:
        return {}
    own = np.array(vectors.matrix[vectors.rows[word]])
    cosines = rows @ (own / np.linalg.norm(own))
    found: dict[int, float] = {}
    for place in np.argsort(-cosines):
        if cosines[place] < _ALIKE or len(found) >= _N_ALIKE:
            break
        for number in classes_by_word()[known[place]]:
            found.setdefault(number, float(cosines[place]))
    return found


@cache
def _word_space() -> "tuple[WordVectors, list[str], Matrix]":
    """Word vectors, the words of class names that have one, and those, (n, dim) of unit length."""
    from seesay.text.vectors import load_vectors

    vectors = load_vectors()
    known = [word for word in classes_by_word() if word in vectors]
    rows = np.array(vectors.matrix[[vectors.rows[word] for word in known]])
    return vectors, known, rows / np.linalg.norm(rows, axis=1, keepdims=True)
