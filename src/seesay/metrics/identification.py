"""Which image was a sentence written for? Drawn trials and how many of them are right (paper 004, section 2.2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import IntArray, as_array, as_indices

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike

N_TRIALS = 6400
"""The paper's 64 · 100 samples."""


@dataclass(frozen=True)
class Trials:
    """Sentences, each with the images to choose from.

    Attributes:
        texts: (n,) the sentence of each trial.
        images: (n, k) the candidates; the first is the one that the sentence was written for.
    """

    texts: IntArray
    images: IntArray

    def __len__(self) -> int:
        return len(self.texts)


def draw_trials(
    image_of: ArrayLike,
    n_trials: int = N_TRIALS,
    n_candidates: int = 2,
    *,
    seed: int = 0,
    rivals: ArrayLike | None = None,
) -> Trials:
    """Draw sentences, and for each its own image and others.

    Args:
        image_of: (n_texts,) the image of each sentence.
        n_trials: How many; a sentence may come more than once, with other rivals.
        n_candidates: Images to choose from, the right one among them.
        seed: The same seed draws the same trials.
        rivals: (n_images, m) the images that may stand beside each one; all others where it is not given. The first
            of them are taken where m is as many as needed: neighbours, the nearest first, give the hardest trials.

    Raises:
        SeesayError: There are fewer images than candidates.

    Example:
        >>> trials = draw_trials([0, 0, 1, 2], n_trials=5, n_candidates=3, seed=1)
        >>> trials.images.shape, bool((np.sort(trials.images) == [0, 1, 2]).all())
        ((5, 3), True)
    """
    owners = as_array(image_of, "image_of", "(n_texts,)").astype(np.int64)
    n_images = int(owners.max(initial=-1)) + 1
    if n_candidates < 2 or n_trials < 1:
        raise SeesayError(f"{n_trials} trials of {n_candidates} images", allowed="1 or more, of 2 or more")
    rng = np.random.default_rng([seed, n_candidates])
    texts = rng.integers(len(owners), size=n_trials) if len(owners) else owners
    own = owners[texts]
    n_rivals = n_candidates - 1
    if rivals is not None:
        table = as_indices(rivals, "rivals", "(n_images, m)", n_images)
        if table.shape[1] < n_rivals:
            raise SeesayError(f"{table.shape[1]} rivals of an image for {n_candidates} candidates")
        others = table[own][:, :n_rivals]
    else:
        if n_images < n_candidates:
            raise SeesayError(f"{n_candidates} candidates of {n_images} images", allowed=f"2 to {n_images}")
        # Numbers from 1 to n − 1, all different, added to the own one around the circle: every other image alike.
        steps = np.stack([rng.choice(n_images - 1, n_rivals, replace=False) for _ in range(n_trials)]) + 1
        others = (own[:, None] + steps) % n_images
    return Trials(texts, np.concatenate([own[:, None], others], 1))


def identification_accuracy(scores: ArrayLike) -> float:
    """Percent of the trials whose first candidate scores highest; a tie counts against it.

    Args:
        scores: (n, k), the right candidate first.

    Example:
        >>> identification_accuracy([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5], [0.7, 0.2]])
        50.0
    """
    matrix = as_array(scores, "scores", "(n, k)")
    if not len(matrix) or matrix.shape[1] < 2 or np.isnan(matrix.astype(np.float64)).any():
        raise SeesayError(f"scores of shape {matrix.shape}", allowed="(n, k), 2 or more candidates, without NaN")
    return 100.0 * float(np.mean(matrix[:, 0] > matrix[:, 1:].max(axis=1)))
