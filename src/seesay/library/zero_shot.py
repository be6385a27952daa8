"""Tags from any list of words, by a model that puts images and sentences into one space (Radford et al. 2021).

A photo's tags are the words whose sentences are nearest to it: the softmax over the list of the cosines with "a photo
of a …", each multiplied by what the model's loss multiplied them by. The names of ImageNet's classes take the place of
a classifier for networks that have none: a library then has tags to show and to filter by.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.library.classes import CLASS_NAMES
from seesay.system.files import replace_atomically
from seesay.system.reading import read_text, require_regular

if TYPE_CHECKING:
    from seesay.runtime.matching import Model

TAGS = "tags.safetensors"
"""The file of a weights folder that holds the vectors of the classes' names."""
SENTENCE = "a photo of a {}"
MOST_WORDS = 20_000
_AT_ONCE = 64

Floats = NDArray[np.float32]


def word_vectors(model: "Model", words: Sequence[str]) -> Floats:
    """The vectors (n, D) of words as tags.

    Raises:
        SeesayError: There are none, too many, or the model has no one vector for a sentence.
    """
    if not words or len(words) > MOST_WORDS or not all(word.strip() for word in words):
        raise SeesayError(f"a list of {len(words):,} words", allowed=f"1 to {MOST_WORDS:,} words, none of them empty")
    if not model.is_embedding:
        raise SeesayError(f"{model.name} has no one vector for a word and a photo", hint="seesay models")
    sentences = [SENTENCE.format(word) for word in words]
    parts = [model.encode_texts(sentences[at : at + _AT_ONCE]) for at in range(0, len(sentences), _AT_ONCE)]
    return np.concatenate(parts)


def tag_probabilities(images: Floats, words: Floats, temperature: float) -> Floats:
    """The share (n, n_words) of each word for vectors of images (n, D); each row sums to one.

    Example:
        >>> same = np.eye(2, dtype=np.float32)
        >>> tag_probabilities(same, same, 0.5).astype(float).round(2).tolist()
        [[0.88, 0.12], [0.12, 0.88]]
    """
    logits = images @ words.T / temperature
    exponents = np.exp(logits - logits.max(1, keepdims=True))
    shares: Floats = exponents / exponents.sum(1, keepdims=True)
    return shares


def read_words(given: str | Path) -> list[str]:
    """A list of words: of a file, one a line, or as text, separated by commas.

    Example:
        >>> read_words("cat, dog,red bus")
        ['cat', 'dog', 'red bus']
    """
    path = Path(given)
    try:
        text = read_text(path).replace("\n", ",") if os.path.isfile(path) else str(given)  # noqa: PTH113 - takes any name
    except (OSError, ValueError) as error:
        raise SeesayError(f"cannot read the words of {path}: {error}") from error
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def write_class_tags(model: "Model") -> None:
    """Keep the vectors of the classes' names with a model's weights, where its network has no classifier."""
    from safetensors.numpy import save_file

    vectors = word_vectors(model, CLASS_NAMES).astype(np.float16)
    with replace_atomically(model.graphs.folder / TAGS) as temporary:
        save_file({"classes": vectors}, temporary)


def read_class_tags(folder: Path, dim: int) -> Floats | None:
    """What `write_class_tags` has kept: (1000, D); None where there is no such file.

    Raises:
        SeesayError: The file is damaged, or that of another model.
    """
    path = folder / TAGS
    if not path.is_file():
        return None
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        require_regular(path)
        tensors: dict[str, NDArray[Any]] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise SeesayError(f"cannot read {path}: {error}") from error
    found = tensors.get("classes")
    if found is None or found.shape != (len(CLASS_NAMES), dim):
        raise SeesayError(f"{path} does not fit vectors of {dim} numbers", hint="seesay models add FOLDER")
    return found.astype(np.float32)
