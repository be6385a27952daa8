"""Ranking losses on a matrix of scores between the images and the texts of a batch.

`scores[i, t]` says how well text `t` fits image `i`, and `positives[i, t]` whether they belong together. A pair that is
positive is never counted as a negative: another caption of the same image pushes nothing away. All losses look in both
directions, from an image to the texts and from a text to the images.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from seesay.errors import SeesayError
from seesay.training.recipe import LossRecipe

RankingLoss = Callable[[Tensor, Tensor], Tensor]


def ranking_loss(choice: LossRecipe) -> RankingLoss:
    """The loss that a recipe names, as a function of scores and positives.

    Example:
        >>> loss = ranking_loss(LossRecipe(name="hinge-sum", margin=0.5))
        >>> loss(torch.tensor([[1.0, 0.75], [0.0, 1.0]]), torch.eye(2, dtype=torch.bool))
        tensor(0.2500)
    """
    if choice.name == "softmax":
        return partial(batch_softmax, temperature=choice.temperature)
    if choice.name == "cider":
        raise SeesayError("loss.name is 'cider'", allowed="for what ranks: softmax, hinge-sum, hinge-hardest")
    return partial(hinge_sum if choice.name == "hinge-sum" else hinge_hardest, margin=choice.margin)


def hinge_sum(scores: Tensor, positives: Tensor, margin: float = 0.2) -> Tensor:
    """Every negative that comes within `margin` of a positive pair costs what it lacks.

    For a positive pair (i, t): Σ_t' max(0, margin − s_it + s_it') + Σ_i' max(0, margin − s_it + s_i't) over the texts
    that do not fit image i and the images that do not fit text t; the mean over all positive pairs.

    Args:
        scores: (n_images, n_texts).
        positives: (n_images, n_texts) bool.
        margin: How much better a positive should score than a negative.

    Example:
        >>> hinge_sum(torch.tensor([[1.0, 0.75], [0.0, 1.0]]), torch.eye(2, dtype=torch.bool), margin=0.5)
        tensor(0.2500)
    """
    texts, images = _violations(scores, positives, margin)
    return (texts.sum(dim=1) + images.sum(dim=1)).mean()


def hinge_hardest(scores: Tensor, positives: Tensor, margin: float = 0.2) -> Tensor:
    """As `hinge_sum`, but only the hardest negative of each direction counts (VSE++, Faghri et al. 2018).

    Args:
        scores: (n_images, n_texts).
        positives: (n_images, n_texts) bool.
        margin: How much better a positive should score than its hardest negative.

    Example:
        >>> hinge_hardest(torch.tensor([[1.0, 0.75], [0.0, 1.0]]), torch.eye(2, dtype=torch.bool), margin=0.5)
        tensor(0.2500)
    """
    texts, images = _violations(scores, positives, margin)
    return (texts.amax(dim=1) + images.amax(dim=1)).mean()


def batch_softmax(scores: Tensor, positives: Tensor, temperature: float | Tensor = 0.05) -> Tensor:
    """Cross-entropy of picking the right partner out of the batch, in both directions (symmetric InfoNCE).

    The probability of a positive pair is its share of the softmax over itself and the negatives; the other positives of
    the row take no part. A row's loss is the mean of −log p over its positives, so that an image with five captions
    weighs as much as an image with one; the result is the mean over rows and columns that have a positive, both
    directions weighing one half.

    Args:
        scores: (n_images, n_texts).
        positives: (n_images, n_texts) bool.
        temperature: Scores are divided by it; a tensor may be learned.

    Example:
        >>> batch_softmax(torch.zeros(4, 4), torch.eye(4, dtype=torch.bool))  # one of four by chance: log 4
        tensor(1.3863)
    """
    _check(scores, positives)
    logits = scores / temperature
    return 0.5 * (_row_cross_entropy(logits, positives) + _row_cross_entropy(logits.T, positives.T))


def _violations(scores: Tensor, positives: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """What each candidate lacks to a full margin, for each positive pair; 0 where the candidate is no negative."""
    _check(scores, positives)
    image, text = positives.nonzero(as_tuple=True)  # (P,) each
    floor = margin - scores[image, text].unsqueeze(1)  # (P, 1)
    of_texts = (floor + scores[image]).clamp(min=0).masked_fill(positives[image], 0)  # (P, n_texts)
    of_images = (floor + scores.T[text]).clamp(min=0).masked_fill(positives.T[text], 0)  # (P, n_images)
    return of_texts, of_images


def _row_cross_entropy(logits: Tensor, positives: Tensor) -> Tensor:
    # The lowest finite number instead of −inf: a row without negatives then costs 0 with a gradient of 0, not nan.
    lowest = torch.finfo(logits.dtype).min
    negatives = logits.masked_fill(positives, lowest).logsumexp(dim=1, keepdim=True)  # (rows, 1)
    # −log p = log(e^s + Σ e^s') − s = softplus(log Σ e^s' − s)
    costs = functional.softplus(negatives - logits).masked_fill(~positives, 0)  # (rows, columns)
    n_positives = positives.sum(dim=1)
    has_positive = n_positives > 0
    return (costs.sum(dim=1)[has_positive] / n_positives[has_positive]).mean()


def _check(scores: Tensor, positives: Tensor) -> None:
    if scores.ndim != 2 or scores.shape != positives.shape or positives.dtype != torch.bool:
        raise ValueError(
            "scores and positives are matrices of one shape, positives of bool; "
            f"got {tuple(scores.shape)} and {tuple(positives.shape)} of {positives.dtype}"
        )
    if not positives.any():
        raise ValueError("a batch without a positive pair has no ranking loss")
