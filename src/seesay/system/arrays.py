"""The one way to read a `.npy` file."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.system.reading import require_regular


def load_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """The array of a `.npy` file.

    The head of such a file is Python source of a dict. NumPy reads it with Python's own tokenizer and parser, and lets
    all their errors through.

    Args:
        path: Of the file.
        mapped: Whether its numbers stay on disk until they are asked for.

    Raises:
        OSError: It is no regular file, or cannot be read.
        ValueError: It is damaged, or holds objects.
    """
    require_regular(path)
    try:
        found: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError):
        raise
    except Exception as error:  # whatever a damaged head asks for
        raise ValueError(f"{path} is no array: {type(error).__name__}: {error}") from error
    if not isinstance(found, np.ndarray):  # NumPy opens archives too
        raise ValueError(f"{path} is no array")
    return found
