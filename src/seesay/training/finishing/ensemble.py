"""The weights of an ensemble's members, and of their hubness."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize

from seesay.models.ensemble import Ensemble, Member, Scored

LARGEST = 100.0
"""Weights end here, where a few examples would have them grow for ever."""


def choose_weights(
    names: Sequence[str], found: Sequence[Scored], image_of: NDArray[np.int64], chosen_on: str = ""
) -> Ensemble:
    """The weights under which the right ones are likeliest.

    The cost is −log of the probability that a softmax over all pictures gives to the right one of a sentence, and one
    over all sentences to each of a picture's own. It is convex: there is one best choice, and a further member never
    makes it worse. Recalls move in jumps instead, and a search for the highest stops at what dev has by accident.

    Args:
        names: Of the members.
        found: What each predicts on dev.
        image_of: (n_texts,) the image of each text.
        chosen_on: Remembered as where this was done.
    """
    members = [
        Member(
            name,
            1.0,
            float(part.scores.mean(dtype=np.float64)),
            max(float(part.scores.std(dtype=np.float64)), 1e-12),
        )
        for name, part in zip(names, found, strict=True)
    ]
    places = [
        (place, field, torch.from_numpy(term))
        for place, (member, part) in enumerate(zip(members, found, strict=True))
        for field, term in member.terms(part)
    ]
    owners, columns = torch.from_numpy(image_of), torch.arange(len(image_of))

    def cost(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = torch.from_numpy(given).float().requires_grad_()
        joined = sum((weight * term for weight, (_, _, term) in zip(weights, places, strict=True)), torch.zeros(1))
        right = joined[owners, columns]
        total = (joined.logsumexp(0) + joined.logsumexp(1)[owners] - 2 * right).mean()
        (gradient,) = torch.autograd.grad(total, weights)
        return float(total.detach()), gradient.double().numpy()

    start = np.array([1.0 if field == "weight" else 0.0 for _, field, _ in places])
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(0.0, LARGEST)] * len(start))
    chosen = best.x if best.x.any() else start  # members that know nothing at all still have an order
    for (place, field, _), weight in zip(places, chosen, strict=True):
        members[place] = replace(members[place], **{field: round(float(weight), 4)})  # type: ignore[arg-type]
    return Ensemble(tuple(members), chosen_on)
