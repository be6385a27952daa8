"""What a batch looks at of its photos, cut from activations that are kept: windows and mirror images.

A convolutional network makes nearly the same of a shifted or mirrored photo, shifted or mirrored. So windows of the
lower half's activations stand for crops of the photo, and cost nothing to make.
"""

import re
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

_SIDE = re.compile(r"\b(left|right)\b", re.IGNORECASE)
_OTHER = {"left": "right", "right": "left"}


@dataclass(frozen=True, eq=False)
class View:
    """One window for all photos of a batch, and which of them are mirrored.

    Attributes:
        share: Of each side that the window has.
        top: Where it lies between the uppermost place (0) and the lowest (1).
        left: Where it lies between the leftmost place (0) and the rightmost (1).
        mirrored: For each photo of the batch.
    """

    share: float
    top: float
    left: float
    mirrored: np.ndarray

    def of(self, activations: Tensor, photos: slice = slice(None)) -> Tensor:
        """The view of activations (n, h, w, c) of those photos of the batch."""
        window = activations
        for axis, place in ((1, self.top), (2, self.left)):
            size = window.shape[axis]
            kept = max(1, round(size * self.share))
            window = window.narrow(axis, round((size - kept) * place), kept)
        mirrored = torch.from_numpy(self.mirrored[photos])
        return torch.where(mirrored[:, None, None, None], window.flip(2), window) if mirrored.any() else window


def draw_view(rng: np.random.Generator, n: int, *, mirrors: bool, smallest: float) -> View:
    """A view of a batch of `n` photos: a window of at least `smallest` of each side, half of the photos mirrored."""
    share, top, left = rng.random(3)
    mirrored = rng.random(n) < 0.5 if mirrors else np.zeros(n, bool)
    return View(smallest + (1 - smallest) * share, top, left, mirrored)


def mirror_words(sentence: str) -> str:
    """The sentence as it is true of the mirrored photo.

    Example:
        >>> mirror_words("On the left a man, on the right a brightly lit tree.")
        'On the right a man, on the left a brightly lit tree.'
    """
    return _SIDE.sub(lambda found: _OTHER[found[0].lower()], sentence)
