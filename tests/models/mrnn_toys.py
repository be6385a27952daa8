"""What the tests of m-RNN have in common: its sentences, features and shapes."""

from collections.abc import Callable

import pytest
import torch

from seesay.images.features import Features
from seesay.models.mrnn import CELLS, MRNN, WIRINGS

Build = Callable[..., MRNN]
SENTENCES = ["a dog runs", "dog", "two dogs play in the snow", "a red zebra"]
each_wiring = pytest.mark.parametrize("wiring", WIRINGS)
each_cell = pytest.mark.parametrize("cell", CELLS)
each_shape = pytest.mark.parametrize(
    "config",
    [*({"wiring": wiring} for wiring in WIRINGS), {"cell": "gru"}, {"cell": "lstm"}, {"shared": True}],
    ids=lambda config: "-".join(map(str, config.values())),
)


def random_features(n: int = 4, dim: int = 7, seed: int = 0) -> Features:
    return Features(torch.rand(n, dim, generator=torch.Generator().manual_seed(seed)))
