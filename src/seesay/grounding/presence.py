"""What says that an image shows a phrase at all, beside the score of the phrase's box."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seesay.grounding.closer import Closer
from seesay.grounding.heat import Floats
from seesay.images.arrays import ImageFeatures
from seesay.runtime.witness import Witness


@dataclass(frozen=True, eq=False)
class Signs:
    """Of n phrases and one image.

    Attributes:
        match: (n,) a matcher's cosine of each phrase and the whole image.
        peak: (n,) the peak of each phrase's heat.
        look: (n,) the matcher's best cosine of each phrase and a place of the crops of the image.
        box: (n,) what learned boxes say of it; 0 where there are none.
    """

    match: NDArray[np.float64]
    peak: NDArray[np.float64]
    look: NDArray[np.float64]
    box: NDArray[np.float64]

    @property
    def rows(self) -> NDArray[np.float64]:
        """(n, 4) in the order in which `seesay.settings.doubt.Doubt.probability` takes them."""
        return np.stack([self.match, self.peak, self.look, self.box], axis=1)


def signs_of(
    texts: Sequence[str],
    features: ImageFeatures,
    closer: Closer | None,
    heat: Floats,
    witness: Witness | None,
    box: Floats | None = None,
) -> Signs:
    """What speaks for phrases in one image.

    Args:
        texts: The phrases.
        features: Of the image, with its map.
        closer: Its crops, where it was looked at again.
        heat: (n, h, w) of the phrases.
        witness: The matcher; without one, `match` and `look` are 0.
        box: (n,) what learned boxes say.
    """
    box = np.zeros(len(texts)) if box is None else box
    peak = heat.reshape(len(heat), -1).max(1)
    if witness is None:
        return Signs(np.zeros(len(texts)), peak, np.zeros(len(texts)), box)
    vectors = witness.read(texts)
    match = (vectors @ witness.see(features)[0]).astype(np.float64)
    look = (vectors @ witness.see_cells(features if closer is None else closer.features).T).max(1).astype(np.float64)
    return Signs(match, peak, look, box)
