"""Refit a linear classifier on features that have moved, so that it says again what it said on the old ones.

Ridge regression towards the old logits, starting from the classifier as it is: of the change, not of the weights, the
size is held small. How small is chosen on a fifth of the examples that is set aside.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

SHRINKAGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Of the change, in units of the features' mean variance."""
HELD_OUT = 5
"""One in this many examples chooses the shrinkage."""


@torch.no_grad()
def refit_classifier(classifier: nn.Linear, features: Tensor, logits: Tensor) -> float:
    """Change a classifier in place so that its logits of `features` come near to `logits`.

    Args:
        features: (n, D).
        logits: (n, C), what it should say; each row up to a constant.

    Returns:
        The shrinkage that was chosen.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> teacher, student = nn.Linear(3, 4), nn.Linear(3, 4)
        >>> features = torch.randn(200, 3)
        >>> _ = refit_classifier(student, features, teacher(features))
        >>> bool((student(features).argmax(1) == teacher(features).argmax(1)).float().mean() > 0.99)
        True
    """
    # A constant added to all logits of an example changes no probability, and nobody should learn it.
    missing = _centred(logits) - _centred(classifier(features))  # (n, C)
    aside = torch.arange(len(features)) % HELD_OUT == 0
    changes = [_fit(features[~aside], missing[~aside], shrinkage) for shrinkage in SHRINKAGES]
    errors = [float((missing[aside] - features[aside] @ w - b).square().mean()) for w, b in changes]
    chosen = SHRINKAGES[min(range(len(errors)), key=errors.__getitem__)]
    weight, bias = _fit(features, missing, chosen)
    classifier.weight.add_(weight.T)
    classifier.bias.add_(bias)
    return chosen


def _centred(logits: Tensor) -> Tensor:
    return logits - logits.mean(1, keepdim=True)


def _fit(features: Tensor, wanted: Tensor, shrinkage: float) -> tuple[Tensor, Tensor]:
    """The weights (D, C) and biases (C,) of the ridge regression from features to `wanted`."""
    mean, offset = features.mean(0), wanted.mean(0)
    x = (features - mean).double()
    gram = x.T @ x
    gram.diagonal().add_(shrinkage * gram.diagonal().mean())
    weight = torch.linalg.solve(gram, x.T @ (wanted - offset).double()).float()
    return weight, offset - mean @ weight


def spread_evenly(counts: Sequence[int], n: int) -> list[range]:
    """The first places of each of several collections, `n` together, or all where there are fewer.

    Example:
        >>> spread_evenly([100, 3], 20)
        [range(0, 10), range(0, 3)]
    """
    share = n // len(counts)
    return [range(min(count, share)) for count in counts]
