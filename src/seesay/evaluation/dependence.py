"""Does an explanation depend on the sentence? The correlation of maps of a photo's own and of other sentences.

A map that stays the same whatever is said, such as the brightness of the photo, may point well and explains nothing:
its correlation is 1. Beside pointing, which a bright map can win, this says how far the words matter.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seesay.data import Collection

Floats = NDArray[np.float64]
N_FOREIGN = 3
"""Sentences of other photos for each photo."""


@dataclass(frozen=True)
class Dependence:
    """The mean correlation of maps of the right and of foreign sentences, of every way to draw a map.

    Attributes:
        correlation: From -1 to 1; 1 is a map that does not depend on the sentence. A map without any variance counts
            as such.
        n_photos: Over which the mean is.
        n_foreign: Foreign sentences of each.
    """

    correlation: dict[str, float]
    n_photos: int
    n_foreign: int


def measure_dependence(
    maps_of: Callable[[int, str], Mapping[str, Floats]], collection: Collection, n_foreign: int = N_FOREIGN
) -> Dependence:
    """Compare the maps of each photo's first sentence with those of the first sentences of other photos.

    Args:
        maps_of: From the number of a photo and a sentence to the maps (h, w) of every way to draw one.
        n_foreign: How many; fewer where there are not as many other photos. They stand at even distances in the
            collection, so that neighbours, which may show the same scene, are not among them.

    Example:
        >>> from pathlib import Path
        >>> from seesay.data import Item
        >>> pets = Collection("pets", Path(), "toy", tuple(Item(name, None, (name,)) for name in ("dog", "cat")))
        >>> bright, about = np.array([[0.0, 1.0]]), {"dog": np.array([[0.0, 1.0]]), "cat": np.array([[1.0, 0.0]])}
        >>> measure_dependence(lambda photo, said: {"brightness": bright, "words": about[said]}, pets).correlation
        {'brightness': 1.0, 'words': -1.0}
    """
    n = len(collection)
    found: dict[str, list[float]] = {}
    shifts = sorted({round(n * (step + 1) / (n_foreign + 1)) for step in range(n_foreign)} - {0, n})
    for photo, item in enumerate(collection.items):
        own = maps_of(photo, item.sentences[0])
        for shift in shifts:
            foreign = maps_of(photo, collection.items[(photo + shift) % n].sentences[0])
            for name, mine in own.items():
                found.setdefault(name, []).append(_correlation(mine, foreign[name]))
    return Dependence({name: round(float(np.mean(row)), 4) for name, row in found.items()}, n, len(shifts))


def _correlation(first: Floats, second: Floats) -> float:
    if not first.std() or not second.std():
        return 1.0
    return float(np.corrcoef(first.ravel(), second.ravel())[0, 1])
