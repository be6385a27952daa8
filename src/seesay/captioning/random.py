"""Random numbers by a seed, in the order in which torch draws them.

torch draws from a Mersenne Twister that is seeded with the lower 32 bits of a seed. A single-precision number is the
lower 24 bits of one draw, a large whole number two draws one above the other.
"""

import numpy as np
from numpy.typing import NDArray


def _draws(seed: int, n: int) -> NDArray[np.uint64]:
    state = np.random.RandomState(seed & 0xFFFFFFFF)
    found: NDArray[np.uint64] = state._bit_generator.random_raw(n)
    return found


def uniform(seed: int, n: int) -> NDArray[np.float64]:
    """What `torch.rand(n)` gives for a seed: numbers from 0 up to and without 1.

    Example:
        >>> uniform(0, 2).round(4).tolist()
        [0.4963, 0.7682]
    """
    return (_draws(seed, n) & 0xFFFFFF).astype(np.float64) * 2.0**-24


def block_seeds(seed: int, n: int, limit: int = 2**62) -> list[int]:
    """What `torch.randint(limit, (n,))` gives for a seed, where the limit is 2³² or more."""
    draws = [int(draw) for draw in _draws(seed, 2 * n)]
    return [((high << 32) | low) % limit for high, low in zip(draws[::2], draws[1::2], strict=True)]
