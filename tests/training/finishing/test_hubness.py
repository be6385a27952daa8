"""Hubs of the training data are found again on dev, and subtracted."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seesay.training.finishing.hubness import choose_hubness


def vectors(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and sentences that fit, and every third image a hub that leans towards what all sentences share."""
    torch.manual_seed(seed)
    shared = F.one_hot(torch.tensor(0), 16).float()
    things = torch.randn(n, 16)
    things[:, 0] = 0
    texts = F.normalize(0.5 * shared + F.normalize(things, dim=1) + 0.3 * torch.randn(n, 16), dim=1)
    lean = 1.2 * (torch.arange(n) % 3 == 0)
    return F.normalize(F.normalize(things, dim=1) + lean[:, None] * shared, dim=1), texts


def test_dev_finds_more_with_it() -> None:
    found = choose_hubness(vectors(600, 0), vectors(300, 1), np.arange(300), temperature=0.05, n_centres=64)
    assert found.sum_with > found.sum_without + 3
    table = found.to_table()
    assert table["n_centres"] == 64
    assert table["of_images"] > 0.1
    assert table == {"n_centres": 64, "of_images": round(found.of_images, 4), "of_texts": round(found.of_texts, 4)}


def test_centres_are_no_more_than_there_are_training_vectors() -> None:
    found = choose_hubness(vectors(20, 0), vectors(20, 1), np.arange(20), temperature=0.05)
    assert found.to_table()["n_centres"] == 20
    assert found.hubness.temperature == pytest.approx(0.05)
