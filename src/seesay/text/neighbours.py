"""The nearest words by a model's word vectors.

m-RNN's word vectors start at random and come to lie near each other where words mean similar things (section 5).
"""

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.text.vocabulary import SPECIAL, Vocabulary


def nearest_words(
    vectors: NDArray[np.float32], vocabulary: Vocabulary, word: str, n: int = 10
) -> list[tuple[str, float]]:
    """The words whose vectors have the smallest Euclidean distance to a word's own.

    Args:
        vectors: (V, D), one row for each word of the vocabulary; the special signs are left out of the answer.
        vocabulary: The words of the rows.
        word: One that the vocabulary holds.
        n: How many, or all there are.

    Returns:
        Words with their distances, the nearest first.

    Raises:
        SeesayError: The vocabulary does not hold the word; close spellings are named.

    Example:
        >>> vocabulary = Vocabulary.build(["dog puppy car"], min_count=1)  # "car", "dog" and "puppy" are 4, 5 and 6
        >>> vectors = np.array([[0.0, 1.0]] * 4 + [[5.0, 0.0], [0.0, 0.0], [0.0, 2.0]], np.float32)
        >>> nearest_words(vectors, vocabulary, "dog")
        [('puppy', 2.0), ('car', 5.0)]
    """
    if word not in vocabulary:
        close = close_spellings(vocabulary, word)
        raise SeesayError(
            f"{word!r} is not among the {len(vocabulary) - len(SPECIAL):,} words that the model has learned",
            hint=", ".join(close) or None,
        )
    if n < 1:
        raise SeesayError(f"n is {n}", allowed="1 or more")
    (own,) = vocabulary.encode([word])
    distances = np.linalg.norm(vectors - vectors[own], axis=1)  # (V,)
    distances[: len(SPECIAL)] = np.inf
    distances[own] = np.inf
    n = min(n, len(vocabulary) - len(SPECIAL) - 1)
    order = distances.argsort(kind="stable")[:n].tolist()
    return [(vocabulary.words[place], float(distances[place])) for place in order]


def close_spellings(vocabulary: Vocabulary, word: str, n: int = 5) -> list[str]:
    """Known words that are spelled like an unknown one, the most similar first, and of equals the most frequent.

    Example:
        >>> close_spellings(Vocabulary.build(["a dog and a frisbee"], min_count=1), "frisby")
        ['frisbee']
    """
    known: Sequence[str] = vocabulary.words[len(SPECIAL) :]
    return get_close_matches(word.lower(), known, n=n, cutoff=0.7)
