"""The alignment score of images and sentences: every word takes the region that suits it best.

    S_kl = Σ_{t ∈ g_l} max_{i ∈ g_k} v_i · s_t        (DVSA supplement, Eq. 1)

Regions i of image k against words t of sentence l. All inner products of a few images with the words of a few
sentences are one matrix product, whose result is reduced while it is still in the cache: the memory that is needed does
not grow with the number of pairs.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from seesay.layers.sequences import Sequences

BLOCK = 4 << 20
"""Bytes of inner products at a time: what the caches of a core hold beside the vectors."""
_WORDS = 1024  # of a block: enough for a matrix product at full speed


def sum_of_max(regions: Tensor, texts: Sequences, *, mask: Tensor | None = None, block: int = BLOCK) -> Tensor:
    """The score of every image and every sentence.

    Where gradients are wanted, everything is one block: they need all inner products anyway.

    Args:
        regions: (n_images, N, D).
        texts: Vectors of words.
        mask: (n_images, N), True where there is a region; every image has one or more. None where all have N.
        block: Most bytes of inner products to hold at a time. It changes nothing in the result but the last digits.

    Returns:
        (n_images, n_texts).

    Example:
        >>> regions = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])  # one image: left and right
        >>> texts = Sequences(torch.tensor([[[3.0, 0.0], [1.0, 1.0]]]), torch.tensor([[5, 6]]), torch.tensor([2]))
        >>> sum_of_max(regions, texts)  # 3 of the left, 2 of the right
        tensor([[5.]])
    """
    n_images, n_regions, _ = regions.shape
    words = texts.states[texts.mask]  # (W, D), sentence after sentence without the padding between them
    owner = torch.arange(len(texts)).repeat_interleave(texts.lengths)  # (W,)
    if torch.is_grad_enabled() and (regions.requires_grad or words.requires_grad):
        return _sum_up(_best(regions, words, mask), owner, len(texts))
    scores = regions.new_zeros(n_images, len(texts))
    ends = texts.lengths.cumsum(0)
    for first, last in _groups(texts.lengths.tolist(), _WORDS):
        start = int(ends[first - 1]) if first else 0
        some, owners = words[start : ends[last - 1]], owner[start : ends[last - 1]] - first
        n_at_once = max(1, block // max(1, n_regions * len(some) * words.element_size()))
        for place in range(0, n_images, n_at_once):
            rows = slice(place, place + n_at_once)
            best = _best(regions[rows], some, None if mask is None else mask[rows])
            scores[rows, first:last] = _sum_up(best, owners, last - first)
    return scores


def _best(regions: Tensor, words: Tensor, mask: Tensor | None) -> Tensor:
    """What the best region of each image gives each word: (n, N, D), (W, D) → (n, W)."""
    n, n_regions, _ = regions.shape
    products = (regions.flatten(0, 1) @ words.T).view(n, n_regions, len(words))  # (n, N, W)
    if mask is not None:
        products = products.masked_fill(~mask.unsqueeze(-1), float("-inf"))
    return products.max(1).values


def _sum_up(best: Tensor, owner: Tensor, n_texts: int) -> Tensor:
    """Add up the words of each sentence: (n, W) → (n, n_texts)."""
    return best.new_zeros(len(best), n_texts).index_add(1, owner, best)


def _groups(lengths: list[int], n_words: int) -> Iterator[tuple[int, int]]:
    """Neighbouring sentences, as half-open ranges, that have about `n_words` words together; one at least."""
    first = total = 0
    for text, length in enumerate(lengths):
        if total and total + length > n_words:
            yield first, text
            first, total = text, 0
        total += length
    if lengths:
        yield first, len(lengths)
