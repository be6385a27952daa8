"""Whether a network is there in whole numbers of 8 bits, and whether this processor computes with them exactly."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from seesay.catalogue.weights import PACKAGED
from seesay.runtime.session import open_session

INT8 = "int8"
HALF = "fp16"
_PROBED = 200
"""What the probe gives where nothing is lost: 64 products of 255 and 127, in steps of a 200th of that."""


def has_rounded(network: str, place: Path) -> bool:
    """Whether a network, by the name of its folder, is there in 8 bits too: in a place, or with the package."""
    name = f"{network.removesuffix(f'-{HALF}')}-{INT8}"
    return any((each / name / "network.json").is_file() for each in (place, PACKAGED))


@lru_cache(maxsize=1)
def is_exact() -> bool:
    """Whether this processor adds products of 8 bits without losing any.

    Some add pairs of them in 16 bits, where two large ones do not fit; those are no faster in 8 bits either.
    """
    probe = open_session(PACKAGED / "exact.onnx", 1)
    (found,) = probe({"x": np.full((1, 64, 4, 4), 255, np.uint8)})
    return bool((found == _PROBED).all())
