"""The largest values that can be asked for: more than anybody wants, and no more than a machine can do.

Options, recipes, configurations and the HTTP API share them; a value beyond is refused in a sentence.
"""

import math

from seesay.errors import SeesayError

BEAM = 1000
"""Sentences that a beam search follows, or that are asked for."""
LENGTH = 1000
"""Words of a caption."""
RESULTS = 10_000
"""Photos, regions, words or phrases that are listed."""
COUNT = 10_000_000
"""Of anything that a collection holds."""
SEED = 2**32 - 1
THREADS = 1024
SIDE = 4096
"""Pixels of a network's square input."""
CELLS = 10_000
"""Of a grid of regions."""
EPOCHS = 100_000
RATE = 1000.0
WIDTH = 65_536
"""Numbers of a layer."""
TEMPERATURE = (0.01, 100.0)
SECONDS = 7 * 24 * 3600.0
"""Between two looks at the folders."""
TEXT = 20_000
"""Characters of one argument of the command line."""
DRAWN = 400
"""Characters of a text, or of a word, that are drawn."""
INTEGER = 2**63 - 1
"""What databases and tensors can hold."""


def require_finite(value: float | None) -> float | None:
    """A number that is one: neither infinite nor undefined.

    Raises:
        SeesayError: It is not.
    """
    if value is not None and not math.isfinite(value):
        raise SeesayError(f"{value} is no number to count with", allowed="a finite number")
    return value


def require_score(value: float | None) -> float | None:
    """A score that a photo can have: a percentage as a share of 1, or a similarity.

    Raises:
        SeesayError: It is above 1, or no number.

    Example:
        >>> require_score(50.0)
        Traceback (most recent call last):
        seesay.errors.SeesayError: no photo scores 50
          allowed: at most 1: 50 % is 0.5
    """
    if value is not None and require_finite(value) and value > 1:
        share = f": {value:g} % is {value / 100:g}" if value <= 100 else ""
        raise SeesayError(f"no photo scores {value:g}", allowed=f"at most 1{share}")
    return value


def require_count(name: str, value: int, most: int, least: int = 1) -> None:
    """A number of something that can be done.

    Raises:
        SeesayError: It is too small or too large, or no whole number.

    Example:
        >>> require_count("top", 10**9, RESULTS)
        Traceback (most recent call last):
        seesay.errors.SeesayError: top is 1000000000
          allowed: a whole number from 1 to 10,000
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SeesayError(f"{name} is {value!r}", allowed=f"a whole number from {least} to {most:,}")


def require_pause(seconds: float) -> float:
    """Seconds between two rounds of something: none at all, or enough to do something else in between.

    Raises:
        SeesayError: Too few, or too many.

    Example:
        >>> require_pause(0), require_pause(300)
        (0, 300)
    """
    if not (seconds == 0 or 1 <= seconds <= SECONDS):
        raise SeesayError(f"{seconds} seconds between two looks", allowed=f"0, or 1 to {SECONDS:,.0f}")
    return seconds
