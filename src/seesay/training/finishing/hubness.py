"""Hubness of an embedding: centres from training data, the two weights from dev."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from seesay.catalogue.ensembles import Scored
from seesay.metrics.retrieval import retrieval_report
from seesay.models.hubness import Hubness, estimate_hubness
from seesay.training.finishing.ensemble import choose_weights

N_CENTRES = 128
"""Of each side: on dev, more centres gain little (benchmarks/results/hubness.json)."""


@dataclass(frozen=True, eq=False)
class HubnessChoice:
    """Centres and weights, and what dev finds without and with them (the sum of all recalls).

    Attributes:
        hubness: To be written beside the weights.
        of_images: How much of the hubness of images is subtracted from a cosine.
        of_texts: The same of sentences.
    """

    hubness: Hubness
    of_images: float
    of_texts: float
    sum_without: float
    sum_with: float

    def to_table(self) -> dict[str, float]:
        """The table `hubness` of config.json."""
        n = len(self.hubness.images.shares)
        return {"n_centres": n, "of_images": round(self.of_images, 4), "of_texts": round(self.of_texts, 4)}


def choose_hubness(
    learned: tuple[Tensor, Tensor],
    dev: tuple[Tensor, Tensor],
    image_of: NDArray[np.int64],
    temperature: float,
    n_centres: int = N_CENTRES,
) -> HubnessChoice:
    """Estimate hubness on training vectors and weight it so that dev's right pairs are likeliest.

    Args:
        learned: Vectors of training images (n, D) and sentences (n, D).
        dev: The same of a dev split.
        image_of: (n_texts,) the image of each dev sentence.
        temperature: Of the loss.
    """
    hubness = estimate_hubness(*learned, temperature, n_centres)
    images, texts = dev
    cosines = (images @ texts.T).numpy()
    scored = Scored(cosines, hubness.of_images(images).numpy(), hubness.of_texts(texts).numpy())
    alone = choose_weights(["embedding"], [scored], image_of)
    (member,) = alone.members
    weight = member.weight or 1.0
    return HubnessChoice(
        hubness,
        member.of_images / weight,
        member.of_texts / weight,
        retrieval_report(cosines, image_of)["sum"],
        retrieval_report(alone.join([scored]), image_of)["sum"],
    )
