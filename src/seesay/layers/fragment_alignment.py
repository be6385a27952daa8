"""DeFrag's objective (Karpathy, Joulin & Fei-Fei, NIPS 2014, "Deep fragment embeddings"): what DVSA's is compared with.

    S_kl = Σ_{i ∈ g_k} Σ_{j ∈ g_l} max(0, v_i · s_j) / (|g_k| (|g_l| + n))     the score of image k and sentence l
    C_F = min_y Σ_j [mean over y_ij = 1 of max(0, 1 − v_i · s_j) + mean over y_ij = −1 of max(0, 1 + v_i · s_j)]

In place of one best region for each fragment, every fragment meets every region, and each such pair has a label y_ij.
Regions of foreign images have y_ij = −1. Which regions of its own image a fragment belongs to is not known: for them
the labels are chosen (multiple instances), as the cheapest ones that leave each fragment at least one region of its
image: the sign of the product, and 1 for the largest where all are negative. Fragments are averaged here, not added up,
so that the cost does not grow with the batch. The ranking of images and sentences by S_kl is a loss like that of any
matcher.
"""

import torch
from torch import Tensor

from seesay.layers.sequences import Sequences

SMOOTHING = 5.0
"""n of S_kl: short sentences would win by a single fragment that fits."""


def mean_of_positive(regions: Tensor, texts: Sequences, *, smoothing: float = SMOOTHING) -> Tensor:
    """The score of every image and every sentence: (n_images, N, D) and words → (n_images, n_texts).

    Example:
        >>> regions = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])  # one image: left and right
        >>> texts = Sequences(torch.tensor([[[3.0, 0.0], [1.0, -1.0]]]), torch.tensor([[5, 6]]), torch.tensor([2]))
        >>> mean_of_positive(regions, texts, smoothing=0)  # 3 + 0 of the first, 1 + 0 of the second, over four pairs
        tensor([[1.]])
    """
    n_regions = regions.shape[1]
    columns = []
    for some in torch.split(torch.arange(len(texts)), _N_TEXTS):
        few = texts[some]
        fragments, owner = _flatten(few)
        fits = _products(regions, fragments).clamp(min=0).sum(1)  # (n, W)
        columns.append(fits.new_zeros(len(fits), len(few)).index_add(1, owner, fits))
    if not columns:
        return regions.new_zeros(len(regions), 0)
    return torch.cat(columns, 1) / (n_regions * (texts.lengths + smoothing))


def fragment_cost(regions: Tensor, texts: Sequences, positives: Tensor, *, choose: bool = True) -> Tensor:
    """C_F, the mean over all fragments.

    Args:
        regions: (n_images, N, D).
        texts: Vectors of fragments.
        positives: (n_images, n_texts) bool, which images and sentences belong together.
        choose: Choose the labels of regions in a fragment's own image; otherwise all of them are 1, which is C_0 of the
            paper.

    Example:
        >>> regions = torch.tensor([[[2.0, 0.0], [0.0, 1.0]]])  # one image with two regions
        >>> texts = Sequences(torch.tensor([[[1.0, -0.5]]]), torch.tensor([[5]]), torch.tensor([1]))
        >>> yes = torch.tensor([[True]])
        >>> fragment_cost(regions, texts, yes), fragment_cost(regions, texts, yes, choose=False)
        (tensor(0.5000), tensor(0.7500))
    """
    fragments, owner = _flatten(texts)
    products = _products(regions, fragments)  # (n, N, W)
    own = positives[:, owner].unsqueeze(1).expand_as(products)
    labels = own
    if choose:
        with torch.no_grad():
            best = torch.zeros_like(own).scatter(1, products.argmax(1, keepdim=True), True)
            labels = own & ((products > 0) | best)
    return (_mean_over(1 - products, labels) + _mean_over(1 + products, ~labels)).mean()


def _mean_over(shortfalls: Tensor, chosen: Tensor) -> Tensor:
    """The mean hinge of each fragment over its chosen regions: (n, N, W) → (W,), 0 where it has none."""
    costs = shortfalls.clamp(min=0).masked_fill(~chosen, 0).sum((0, 1))
    return costs / chosen.sum((0, 1)).clamp(min=1)


def _flatten(texts: Sequences) -> tuple[Tensor, Tensor]:
    """The fragments of all sentences one after the other, (W, D), and whose each is, (W,)."""
    return texts.states[texts.mask], torch.arange(len(texts)).repeat_interleave(texts.lengths)


def _products(regions: Tensor, fragments: Tensor) -> Tensor:
    return (regions.flatten(0, 1) @ fragments.T).view(*regions.shape[:2], len(fragments))


_N_TEXTS = 64  # at a time: with a thousand images of twenty regions, some 60 MB of products
