"""Dropout of words, and models without any dropout."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from seesay.text.vocabulary import UNKNOWN


def drop_words(words: Tensor, mask: Tensor, share: float) -> Tensor:
    """Replace a random share of the words (n, T), where the mask is True, by the unknown word."""
    return words.masked_fill(mask & (torch.rand(words.shape) < share), UNKNOWN) if share else words


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Let a model work as it does after training, and leave it as it was."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
