"""The weights of an ensemble's members, and of their hubness."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize

from seesay.catalogue.ensembles import Ensemble, Member, Scored

LARGEST = 100.0
"""Weights end here, where a few examples would have them grow for ever."""


def choose_weights(
    names: Sequence[str], found: Sequence[Scored], image_of: NDArray[np.int64], chosen_on: str = ""
) -> Ensemble:
    """As `choose_weights_on`, for one collection."""
    return choose_weights_on(names, [(found, image_of)], chosen_on)


def choose_weights_on(
    names: Sequence[str], parts: Sequence[tuple[Sequence[Scored], NDArray[np.int64]]], chosen_on: str = ""
) -> Ensemble:
    """The weights under which the right ones are likeliest.

    The cost is −log of the probability that a softmax over all images of a collection gives to the right one of a
    sentence, and one over all sentences to each of an image's own; of several collections the mean. It is convex: there
    is one best choice, and a further member never makes it worse. Recalls move in jumps instead, and a search for the
    highest stops at what dev has by accident.

    Args:
        names: Of the members.
        parts: For each collection, what each member predicts on dev, and the image of each text (n_texts,).
        chosen_on: Remembered as where this was done.
    """
    members = [_standardise(name, [found[place].scores for found, _ in parts]) for place, name in enumerate(names)]
    places = [
        (place, field)
        for place, (member, part) in enumerate(zip(members, parts[0][0], strict=True))
        for field, _ in member.terms(part)
    ]
    terms = [
        [
            torch.from_numpy(term)
            for member, part in zip(members, found, strict=True)
            for _, term in member.terms(part)
        ]
        for found, _ in parts
    ]  # fmt: skip
    owners = [torch.from_numpy(image_of) for _, image_of in parts]

    def cost(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = torch.from_numpy(given).float().requires_grad_()
        total = torch.zeros(())
        for own, of in zip(terms, owners, strict=True):
            joined = sum((weight * term for weight, term in zip(weights, own, strict=True)), torch.zeros(1))
            right = joined[of, torch.arange(len(of))]
            total = total + (joined.logsumexp(0) + joined.logsumexp(1)[of] - 2 * right).mean() / len(parts)
        (gradient,) = torch.autograd.grad(total, weights)
        return float(total.detach()), gradient.double().numpy()

    start = np.array([1.0 if field == "weight" else 0.0 for _, field in places])
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(0.0, LARGEST)] * len(start))
    chosen = best.x if best.x.any() else start  # members that know nothing at all still have an order
    for (place, field), weight in zip(places, chosen, strict=True):
        members[place] = replace(members[place], **{field: round(float(weight), 4)})  # type: ignore[arg-type]
    return Ensemble(tuple(members), chosen_on)


def _standardise(name: str, scores: Sequence[NDArray[np.float32]]) -> Member:
    """A member whose scores have the mean 0 and the deviation 1, on average over collections."""
    mean, deviation = (
        float(np.mean([each(own, dtype=np.float64) for own in scores])) for each in (np.mean, np.std)
    )  # fmt: skip
    return Member(name, 1.0, mean, max(deviation, 1e-12))
