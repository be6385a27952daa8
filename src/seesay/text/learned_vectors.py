"""Word vectors learned from a collection's own sentences, where none can be had that were learned on as much elsewhere.

Words are alike where they are said about the same images: positive pointwise mutual information of two words over the
images whose sentences hold both, and of that matrix the first principal axes. No network, nothing random.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from seesay.text.tokens import tokenize
from seesay.text.vectors import WordVectors

MOST_WORDS = 6000
"""The most frequent words that get a vector: beyond that the axes take minutes."""


def learn_vectors(images: Iterable[Sequence[str]], dim: int = 300, *, min_count: int = 5) -> WordVectors:
    """Vectors of the words of some images' sentences.

    Args:
        images: The sentences of each image.
        dim: Numbers per vector; fewer where there are fewer words.
        min_count: Images in which a word has to be said.

    Example:
        >>> pets = [["a dog runs", "one dog"], ["a puppy runs", "one puppy"], ["a cat sleeps"], ["a kitten sleeps"]]
        >>> vectors = learn_vectors(pets, min_count=1)
        >>> near, far = (vectors.matrix[vectors.rows["runs"]] @ vectors.matrix[vectors.rows[w]] for w in ("dog", "cat"))
        >>> bool(near > 0.1 > abs(far))
        True
    """
    bags = [set(tokenize(" ".join(sentences))) for sentences in images]
    counts = Counter(word for bag in bags for word in bag)
    words = [word for word, count in counts.most_common(MOST_WORDS) if count >= min_count]
    rows = {word: row for row, word in enumerate(words)}
    said = np.zeros((len(bags), len(words)), np.float32)
    for place, bag in enumerate(bags):
        said[place, [rows[word] for word in bag if word in rows]] = 1
    together = said.T @ said  # (n_words, n_words) images in which both are said
    alone = together.diagonal().copy()
    with np.errstate(divide="ignore"):
        information = np.log(together * max(1, len(bags)) / np.outer(alone, alone))
    information = np.maximum(information, 0)
    values, axes = np.linalg.eigh(information)
    kept = slice(max(0, len(words) - dim), None)  # the last ones vary most
    # The square root of the information, which the products of two vectors give back as far as `dim` numbers can.
    matrix = axes[:, kept] * np.sqrt(np.maximum(values[kept], 0))
    return WordVectors(f"{matrix.shape[1]} numbers, learned from {len(bags):,} images", rows, matrix.astype(np.float32))
